/* The floor that reading is measured against: one thread goes through an STD file byte by byte,
   splits lines and fields and hashes them, checks nothing and keeps nothing.

   cc -O2 benches/floor.c -o floor && ./floor FILE.std                                           */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef const unsigned char *place;

/* Hashes up to `stop` and goes behind it. */
static inline place field(place at, unsigned char stop, uint64_t *hash) {
    uint64_t sum = 0;
    while (*at != stop) sum = sum * 31 + *at++;
    *hash = sum;
    return at + 1;
}

int main(int count, char **arguments) {
    struct stat about;
    int file = count == 2 ? open(arguments[1], O_RDONLY) : -1;
    if (file < 0 || fstat(file, &about) != 0 || about.st_size == 0) {
        fprintf(stderr, "usage: floor FILE.std\n");
        return 2;
    }
    place text = mmap(NULL, about.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
    if (text == MAP_FAILED) return 2;
    uint64_t lines = 0, digest = 0;
    for (place at = text, end = text + about.st_size; at < end; lines++) {
        uint64_t thread, operand = 0, site;
        at = field(at, '|', &thread);
        unsigned char op = *at;
        while (*at != '(' && *at != '|') at++;
        if (*at++ == '(') at = field(at, ')', &operand) + 1;
        at = field(at, '\n', &site);
        digest += (thread * 0x9e3779b97f4a7c15u) ^ (operand * 0xd1342543de82ef95u) ^ op ^ site;
    }
    printf("%" PRIu64 " lines, digest %016" PRIx64 "\n", lines, digest);
    return 0;
}
