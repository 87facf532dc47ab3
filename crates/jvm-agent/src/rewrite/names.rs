//! The names that inserted code and the running agent agree on.

/// The class that inserted code calls. It is in `java.lang`, so that every class of every module
/// and loader can reach it.
pub const HOOK: &[u8] = b"java/lang/PacelineHook";
/// What code in classes of the platform calls.
pub const PLATFORM_HOOK: &[u8] = b"java/lang/PacelinePlatform";
/// What accesses through handles and by reflection call.
pub const VARIABLES_HOOK: &[u8] = b"java/lang/PacelineVariables";
/// What follows a read; generated (`hook::reads`).
pub const READS: &[u8] = b"java/lang/PacelineReads";
/// What takes the place of modelled calls; generated (`hook::wrappers`).
pub const WRAPPERS: &[u8] = b"java/lang/PacelineWrappers";
/// How the descriptors of all classes of the hook start.
pub const HOOKS: &[u8] = b"Ljava/lang/Paceline";
/// The field with owner and number of an object, in the topmost class that is not the platform's.
pub const WORD: &[u8] = b"$paceline";
/// What the names of all fields and methods that were added start with.
pub const ADDED: &[u8] = b"$paceline";

/// Packages of the Java platform. What is there keeps its layout and is observed, if at all, where
/// the application calls it. The decision must follow from the name alone, since code that
/// names a class is rewritten before that class is loaded.
const PLATFORM: &[&[u8]] = &[
    b"java/",
    b"jdk/",
    b"sun/",
    b"com/sun/",
    b"netscape/javascript/",
    b"org/ietf/jgss/",
    b"org/jcp/xml/",
    b"org/w3c/dom/",
    b"org/xml/sax/",
    b"javax/accessibility/",
    b"javax/annotation/processing/",
    b"javax/crypto/",
    b"javax/imageio/",
    b"javax/lang/model/",
    b"javax/management/",
    b"javax/naming/",
    b"javax/net/",
    b"javax/print/",
    b"javax/rmi/",
    b"javax/script/",
    b"javax/security/",
    b"javax/smartcardio/",
    b"javax/sound/",
    b"javax/sql/",
    b"javax/swing/",
    b"javax/tools/",
    b"javax/transaction/xa/",
    b"javax/xml/",
];

/// Whether a class belongs to the Java platform, by its name with slashes.
pub fn is_platform(class: &[u8]) -> bool {
    PLATFORM.iter().any(|package| class.starts_with(package))
}

/// A class name as people write it.
pub fn dotted(class: &[u8]) -> Vec<u8> {
    class.iter().map(|&b| if b == b'/' { b'.' } else { b }).collect()
}

/// A type as people write it, from its descriptor: `[I` is `int[]`.
pub fn readable_type(descriptor: &[u8]) -> Vec<u8> {
    let dimensions = descriptor.iter().take_while(|&&b| b == b'[').count();
    let element = &descriptor[dimensions..];
    let mut name = match element.first() {
        Some(b'B') => b"byte".to_vec(),
        Some(b'C') => b"char".to_vec(),
        Some(b'D') => b"double".to_vec(),
        Some(b'F') => b"float".to_vec(),
        Some(b'I') => b"int".to_vec(),
        Some(b'J') => b"long".to_vec(),
        Some(b'S') => b"short".to_vec(),
        Some(b'Z') => b"boolean".to_vec(),
        Some(b'V') => b"void".to_vec(),
        _ => {
            let class = element.strip_prefix(b"L").unwrap_or(element);
            dotted(class.strip_suffix(b";").unwrap_or(class))
        }
    };
    name.extend_from_slice(&b"[]".repeat(dimensions));
    name
}

/// The descriptors of a method's parameters.
pub fn parameters(descriptor: &[u8]) -> Vec<&[u8]> {
    let inside = descriptor.split(|&b| b == b')').next().unwrap_or_default();
    let mut rest = inside.strip_prefix(b"(").unwrap_or(inside);
    let mut types = Vec::new();
    while !rest.is_empty() {
        let dimensions = rest.iter().take_while(|&&b| b == b'[').count();
        let element = match rest.get(dimensions) {
            Some(b'L') => rest.iter().position(|&b| b == b';').unwrap_or(rest.len() - 1),
            _ => dimensions,
        };
        let (first, others) = rest.split_at((element + 1).min(rest.len()));
        types.push(first);
        rest = others;
    }
    types
}

/// The last part of a class name, without package and outer classes' packages.
pub fn simple(dotted: &[u8]) -> &[u8] {
    dotted.rsplit(|&b| b == b'.').next().unwrap_or(dotted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_readable() {
        assert_eq!(readable_type(b"[[I"), b"int[][]");
        assert_eq!(readable_type(b"Ljava/lang/String;"), b"java.lang.String");
        assert_eq!(
            parameters(b"(I[JLa/B;[[La/C;D)V"),
            [&b"I"[..], b"[J", b"La/B;", b"[[La/C;", b"D"]
        );
        assert_eq!(parameters(b"()V"), Vec::<&[u8]>::new());
    }

    #[test]
    fn libraries_in_javax_are_no_platform() {
        assert!(is_platform(b"java/util/Map"));
        assert!(is_platform(b"javax/swing/JLabel"));
        assert!(!is_platform(b"javax/servlet/Servlet"));
        assert!(!is_platform(b"javassist/CtClass"));
    }
}
