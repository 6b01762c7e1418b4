// SPDX-License-Identifier: GPL-2.0-or-later
// An OpenSearch node with the processors of ingest pipelines: stores the pipelines of a folder, indexes the events of a
// file through one of them, and writes the stored events.
//
//     Ingest HOME PIPELINES EVENTS STORED PIPELINE
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.opensearch.action.bulk.BulkItemResponse;
import org.opensearch.action.bulk.BulkRequest;
import org.opensearch.action.bulk.BulkResponse;
import org.opensearch.action.index.IndexRequest;
import org.opensearch.action.ingest.PutPipelineRequest;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.client.Client;
import org.opensearch.common.settings.Settings;
import org.opensearch.common.xcontent.XContentType;
import org.opensearch.core.common.bytes.BytesArray;
import org.opensearch.env.Environment;
import org.opensearch.index.query.QueryBuilders;
import org.opensearch.ingest.common.IngestCommonPlugin;
import org.opensearch.node.Node;
import org.opensearch.painless.PainlessPlugin;
import org.opensearch.plugins.Plugin;
import org.opensearch.script.mustache.MustachePlugin;
import org.opensearch.search.SearchHit;
import org.opensearch.search.builder.SearchSourceBuilder;
import org.opensearch.transport.Netty4Plugin;

public final class Ingest {
    private static final class LocalNode extends Node {
        LocalNode(Environment environment, Collection<Class<? extends Plugin>> plugins) {
            super(environment, plugins, false);
        }
    }

    public static void main(String[] args) throws Exception {
        Path home = Path.of(args[0]), pipelines = Path.of(args[1]), events = Path.of(args[2]), out = Path.of(args[3]);
        Settings settings = Settings.builder().put("path.home", home).put("node.name", "test")
            .put("discovery.type", "single-node").put("transport.type", "netty4").put("http.type", "netty4")
            .put("network.host", "127.0.0.1").put("http.port", "0").put("transport.port", "0")
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .put("indices.mapping.dynamic_timeout", "900s").build();
        List<Class<? extends Plugin>> plugins = List.of(IngestCommonPlugin.class, PainlessPlugin.class,
            MustachePlugin.class, Netty4Plugin.class);
        try (Node node = new LocalNode(new Environment(settings, null), plugins)) {
            node.start();
            Client client = node.client();
            try (var files = Files.newDirectoryStream(pipelines, "*.json")) {
                for (Path file : files) {
                    String name = file.getFileName().toString().replaceFirst("\\.json$", "");
                    client.admin().cluster().putPipeline(new PutPipelineRequest(name,
                        new BytesArray(Files.readAllBytes(file)), XContentType.JSON)).actionGet();
                }
            }
            client.admin().indices().prepareCreate("events").setSettings(Settings.builder()
                .put("index.number_of_shards", 1).put("index.number_of_replicas", 0)
                .put("index.mapping.total_fields.limit", 10000)).setMapping(
                "{\"date_detection\":false}").get();
            int count = 0;
            Map<String, Integer> failures = new TreeMap<>();
            BulkRequest bulk = new BulkRequest();
            try (BufferedReader in = Files.newBufferedReader(events)) {
                for (String line; (line = in.readLine()) != null;) {
                    bulk.add(new IndexRequest("events").setPipeline(args[4]).source(line, XContentType.JSON));
                    if (++count % 500 == 0)
                        bulk = send(client, bulk, failures);
                }
            }
            send(client, bulk, failures);
            client.admin().indices().prepareRefresh("events").get();
            for (var failure : failures.entrySet())
                System.out.println("FAILED " + failure.getValue() + " " + failure.getKey());
            try (BufferedWriter writer = Files.newBufferedWriter(out)) {
                SearchSourceBuilder query = new SearchSourceBuilder().query(QueryBuilders.matchAllQuery()).size(10000);
                for (SearchHit hit : client.search(new SearchRequest("events").source(query)).actionGet().getHits()) {
                    writer.write(hit.getSourceAsString());
                    writer.write('\n');
                }
            }
            System.out.println("SENT " + count);
        }
        System.exit(0);
    }

    private static BulkRequest send(Client client, BulkRequest bulk, Map<String, Integer> failures) {
        if (bulk.numberOfActions() > 0) {
            BulkResponse response = client.bulk(bulk).actionGet();
            for (BulkItemResponse item : response)
                if (item.isFailed())
                    failures.merge(item.getFailureMessage(), 1, Integer::sum);
        }
        return new BulkRequest();
    }
}
