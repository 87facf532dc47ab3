// Jetty on the loopback interface, and clients of it.
// usage: Jetty CLIENTS REQUESTS

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.AbstractHandler;

final class Jetty {
    private static final class Answer extends AbstractHandler {
        @Override
        public void handle(String target, Request base, HttpServletRequest request, HttpServletResponse response)
                throws IOException {
            response.setContentType("text/plain");
            response.getWriter().println("you asked for " + target + " with " + request.getQueryString());
            base.setHandled(true);
        }
    }

    public static void main(String[] args) throws Exception {
        Server server = new Server();
        ServerConnector connector = new ServerConnector(server);
        connector.setHost("127.0.0.1");
        server.addConnector(connector);
        server.setHandler(new Answer());
        server.start();
        System.out.println(Clients.run(connector.getLocalPort(), args));
        server.stop();
    }
}
