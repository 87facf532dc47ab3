// Tomcat on the loopback interface, and clients of it.
// usage: Tomcat CLIENTS REQUESTS

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.Context;

final class Tomcat {
    @SuppressWarnings("serial")
    private static final class Answer extends HttpServlet {
        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            response.setContentType("text/plain");
            response.getWriter()
                    .println("you asked for " + request.getRequestURI() + " with " + request.getQueryString());
        }
    }

    public static void main(String[] args) throws Exception {
        Logger.getLogger("org.apache").setLevel(Level.SEVERE);
        Path base = Files.createTempDirectory("tomcat");
        org.apache.catalina.startup.Tomcat tomcat = new org.apache.catalina.startup.Tomcat();
        tomcat.setBaseDir(base.toString());
        tomcat.setHostname("127.0.0.1");
        tomcat.setPort(0);
        Context context = tomcat.addContext("", base.toString());
        org.apache.catalina.startup.Tomcat.addServlet(context, "answer", new Answer());
        context.addServletMappingDecoded("/*", "answer");
        tomcat.getConnector();
        tomcat.start();
        System.out.println(Clients.run(tomcat.getConnector().getLocalPort(), args));
        tomcat.stop();
        tomcat.destroy();
    }
}
