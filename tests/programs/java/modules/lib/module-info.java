module lib {
    exports lib;
}
