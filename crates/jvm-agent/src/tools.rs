//! Build tools and test frameworks: they run beside the application or around it, and are not what
//! a report should be about.
//!
//! A build tool has processes of its own, known by their main classes; they are left alone as a
//! whole, so that `paceline run -- mvn test` costs nothing but in the processes that run tests.
//! A test framework is in the same process as the application; its classes are not observed.

/// Build tools, by what the command line of their processes starts with.
const BUILD_TOOLS: &[(&str, &str)] = &[
    ("org.codehaus.plexus.classworlds.launcher.Launcher", "Maven"),
    ("org.codehaus.classworlds.Launcher", "Maven"),
    ("org.apache.maven.cli.MavenCli", "Maven"),
    ("org.apache.maven.wrapper.MavenWrapperMain", "Maven"),
    ("org.mvndaemon.mvnd.", "Maven"),
    ("org.gradle.launcher.", "Gradle"),
    ("org.gradle.wrapper.GradleWrapperMain", "Gradle"),
    ("gradle-wrapper.jar", "Gradle"),
    ("worker.org.gradle.process.internal.worker.GradleWorkerMain 'Gradle Compiler", "Gradle"),
    ("worker.org.gradle.process.internal.worker.GradleWorkerMain 'Gradle Worker", "Gradle"),
    ("org.jetbrains.kotlin.daemon.KotlinCompileDaemon", "the Kotlin compiler"),
    ("org.apache.tools.ant.launch.Launcher", "Ant"),
    ("ant-launcher.jar", "Ant"),
    ("xsbt.boot.Boot", "sbt"),
    ("sbt-launch.jar", "sbt"),
    ("jdk.compiler/com.sun.tools.javac.Main", "javac"),
    ("jdk.javadoc/", "javadoc"),
    ("jdk.jartool/", "jar"),
];

/// Packages of test frameworks.
const TEST_FRAMEWORKS: &[&str] = &[
    "junit.",
    "org.junit.",
    "org.opentest4j.",
    "org.hamcrest.",
    "org.testng.",
    "org.mockito.",
    "net.bytebuddy.",
    "org.assertj.",
    "org.spockframework.",
    "org.scalatest.",
    "org.jacoco.",
    "org.apache.maven.surefire.",
    "org.apache.maven.plugin.surefire.",
    "org.gradle.",
    "worker.org.gradle.",
    "sbt.",
];

/// Where the annotations are by which test frameworks know the methods that they call.
const TEST_ANNOTATIONS: &[&str] = &["org.junit.", "org.testng."];

/// The build tool that a process is, by its main class or jar and its arguments.
pub fn build_tool(command: &str) -> Option<&'static str> {
    let (main, arguments) = command.split_once(' ').unwrap_or((command, ""));
    let main = if main.ends_with(".jar") { main.rsplit('/').next().unwrap_or(main) } else { main };
    let command = [main, " ", arguments].concat();
    BUILD_TOOLS.iter().find(|(start, _)| command.starts_with(start)).map(|&(_, name)| name)
}

/// Whether a class belongs to a test framework, by its dotted name.
pub fn is_test_framework(class: &[u8]) -> bool {
    TEST_FRAMEWORKS.iter().any(|package| class.starts_with(package.as_bytes()))
}

/// Whether a test framework calls the methods with this annotation.
pub fn is_test_annotation(name: &[u8]) -> bool {
    TEST_ANNOTATIONS.iter().any(|package| name.starts_with(package.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_tools_are_known_by_their_main_class_or_jar() {
        for (command, tool) in [
            ("org.codehaus.plexus.classworlds.launcher.Launcher -B test", Some("Maven")),
            ("org.gradle.launcher.daemon.bootstrap.GradleDaemon 8.5", Some("Gradle")),
            ("/opt/x/gradle/wrapper/gradle-wrapper.jar test", Some("Gradle")),
            (
                "worker.org.gradle.process.internal.worker.GradleWorkerMain 'Gradle Test Executor 1'",
                None,
            ),
            ("/tmp/target/surefire/surefirebooter123.jar /tmp/target x y", None),
            ("com.example.Main org.gradle.launcher.GradleMain", None),
            ("jdk.compiler/com.sun.tools.javac.launcher.Main A.java", None),
            ("", None),
        ] {
            assert_eq!(build_tool(command), tool, "{command}");
        }
    }

    #[test]
    fn frameworks_are_packages() {
        assert!(is_test_framework(b"org.junit.jupiter.api.Assertions"));
        assert!(is_test_framework(b"junit.framework.TestCase"));
        assert!(!is_test_framework(b"org.junitpioneer.Vintage"));
        assert!(is_test_annotation(b"org.junit.Test"));
        assert!(!is_test_annotation(b"bank.Atomic"));
    }
}
