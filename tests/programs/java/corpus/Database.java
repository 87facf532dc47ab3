// Clients of an embedded database that move money between accounts, and one sum at the end.
// usage: Database URL CLIENTS TRANSACTIONS

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Random;

final class Database {
    private static final int ACCOUNTS = 100;
    private final String url;
    private final int transactions;

    Database(String url, int transactions) {
        this.url = url;
        this.transactions = transactions;
    }

    private Connection connect() throws SQLException {
        return DriverManager.getConnection(url, "sa", "");
    }

    private void fill(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("create table account(id int primary key, balance bigint, owner varchar(40))");
            for (int i = 0; i < ACCOUNTS; i++) {
                statement.execute("insert into account values(" + i + ", 1000, 'owner " + i + "')");
            }
        }
    }

    private void client(int number) {
        Random random = new Random(number);
        try (Connection connection = connect();
                PreparedStatement update =
                        connection.prepareStatement("update account set balance = balance + ? where id = ?");
                PreparedStatement query = connection.prepareStatement(
                        "select count(*), max(owner) from account where id < ? and balance > -1000000")) {
            connection.setAutoCommit(false);
            for (int done = 0; done < transactions; ) {
                int low = random.nextInt(ACCOUNTS - 1);
                int high = low + 1 + random.nextInt(ACCOUNTS - 1 - low);
                try {
                    change(update, -5, low);
                    change(update, 5, high);
                    if (done % 10 == 0) {
                        query.setInt(1, 50);
                        try (ResultSet result = query.executeQuery()) {
                            result.next();
                        }
                    }
                    connection.commit();
                    done++;
                } catch (SQLException conflict) {
                    connection.rollback();
                }
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void change(PreparedStatement update, int by, int id) throws SQLException {
        update.setLong(1, by);
        update.setInt(2, id);
        update.executeUpdate();
    }

    public static void main(String[] args) throws Exception {
        Database database = new Database(args[0], Integer.parseInt(args[2]));
        try (Connection connection = database.connect()) {
            database.fill(connection);
            Thread[] clients = new Thread[Integer.parseInt(args[1])];
            for (int i = 0; i < clients.length; i++) {
                int number = i;
                clients[i] = new Thread(() -> database.client(number));
                clients[i].start();
            }
            for (Thread client : clients) {
                client.join();
            }
            try (Statement statement = connection.createStatement();
                    ResultSet result = statement.executeQuery("select sum(balance), count(*) from account")) {
                result.next();
                System.out.println(result.getLong(1) + " in " + result.getInt(2) + " accounts");
            }
        }
    }
}
