import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnels;
import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.FileInputStream;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;

/** Has a BloomFilter of Guava; process.go has the rules. */
class Guava {
    static final long WARM_UP_NANOS = 3_000_000_000L;

    public static void main(String[] args) throws Exception {
        int n = Integer.parseInt(args[2]);
        double p = Double.parseDouble(args[3]);
        List<byte[]> keys = read(args[0], Integer.parseInt(args[1]));

        // Small parts let the compiler see every loop often.
        long start = System.nanoTime();
        for (int i = 0; System.nanoTime() - start < WARM_UP_NANOS; i++) {
            var few = filter(10_000, p);
            add(few, keys.subList(0, Math.min(n, 10_000)));
            find(few, keys.subList(0, Math.min(n, 10_000)));
            find(few, keys.subList(n, Math.min(keys.size(), n + 10_000)));
        }

        var f = filter(n, p);
        System.out.println("ready " + bits(f));
        var in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            String[] words = line.split(" ");
            if (words[0].equals("empty")) {
                f = filter(n, p);
                System.out.println("0 0");
                continue;
            }
            int from = Integer.parseInt(words[1]);
            List<byte[]> part = keys.subList(from, from + Integer.parseInt(words[2]));
            int found = 0;
            start = System.nanoTime();
            if (words[0].equals("add")) {
                add(f, part);
            } else {
                found = find(f, part);
            }
            System.out.println(System.nanoTime() - start + " " + found);
        }
    }

    static List<byte[]> read(String path, int width) throws Exception {
        var keys = new ArrayList<byte[]>();
        try (var in = new DataInputStream(new BufferedInputStream(new FileInputStream(path), 1 << 20))) {
            while (true) {
                var key = new byte[width];
                in.readFully(key);
                keys.add(key);
            }
        } catch (EOFException end) {
            return keys;
        }
    }

    static BloomFilter<byte[]> filter(int n, double p) {
        return BloomFilter.create(Funnels.byteArrayFunnel(), n, p);
    }

    /** The bits of its words, as its binary form counts them. */
    static long bits(BloomFilter<byte[]> f) throws Exception {
        var out = new java.io.ByteArrayOutputStream();
        f.writeTo(out);
        return (out.size() - 6) * 8L;
    }

    static void add(BloomFilter<byte[]> f, List<byte[]> keys) {
        for (byte[] key : keys) {
            f.put(key);
        }
    }

    static int find(BloomFilter<byte[]> f, List<byte[]> keys) {
        int found = 0;
        for (byte[] key : keys) {
            if (f.mightContain(key)) {
                found++;
            }
        }
        return found;
    }
}
