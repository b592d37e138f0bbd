import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/**
 * Flink SQL's interval join in a local mini-cluster, for one detection a record and for arrays of them.
 * Arguments: bootstrap, prefix, results, window in ms, delay in s, whether batched, settings.
 */
public class Join {
    public static void main(String[] given) throws Exception {
        Configuration settings = new Configuration();
        for (String each : given[6].split(";")) settings.setString(each.split("=", 2)[0], each.split("=", 2)[1]);
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(2, settings);
        StreamTableEnvironment tables = StreamTableEnvironment.create(environment);
        boolean isBatched = Boolean.parseBoolean(given[5]);
        String kafka = "'connector' = 'kafka', 'format' = 'json', 'properties.bootstrap.servers' = '" + given[0] + "'";
        String delay = " - INTERVAL '" + given[4] + "' SECOND";
        for (String stream : new String[] {"seismic", "acoustic"}) {
            String from = ") WITH (" + kafka + ", 'scan.startup.mode' = 'earliest-offset', 'topic' = '" + given[1] + stream + "')";
            if (!isBatched) {
                tables.executeSql("CREATE TABLE " + stream + " (area STRING, id BIGINT, t BIGINT, sent BIGINT, "
                    + "`at` AS TO_TIMESTAMP_LTZ(t, 3), WATERMARK FOR `at` AS `at`" + delay + from);
                continue;
            }
            // A watermark belongs to a table, and `first`, a record's first time, is what a table of records has.
            tables.executeSql("CREATE TABLE " + stream + "_records (area STRING, `first` BIGINT, "
                + "detections ARRAY<ROW<id BIGINT, t BIGINT, sent BIGINT>>, `from` AS TO_TIMESTAMP_LTZ(`first`, 3), "
                + "WATERMARK FOR `from` AS `from`" + delay + from);
            var rows = tables.sqlQuery("SELECT area, d.id, d.t, d.sent FROM " + stream
                + "_records CROSS JOIN UNNEST(detections) AS d (id, t, sent)");
            tables.createTemporaryView(stream, tables.toDataStream(rows), Schema.newBuilder()
                .columnByExpression("at", "TO_TIMESTAMP_LTZ(t, 3)").watermark("at", "SOURCE_WATERMARK()").build());
        }
        tables.executeSql("CREATE TABLE results (area STRING, seismic BIGINT, acoustic BIGINT, sent BIGINT) WITH ("
            + kafka + ", 'topic' = '" + given[2] + "', 'key.format' = 'raw', 'key.fields' = 'area')");
        String window = "INTERVAL '" + Integer.parseInt(given[3]) / 1e3 + "' SECOND(1, 3)";
        tables.executeSql("INSERT INTO results SELECT s.area, s.id, a.id, GREATEST(s.sent, a.sent) FROM seismic s "
            + "JOIN acoustic a ON s.area = a.area AND s.`at` BETWEEN a.`at` - " + window + " AND a.`at` + " + window).await();
    }
}
