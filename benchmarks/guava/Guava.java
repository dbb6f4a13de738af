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

/** A process with a BloomFilter of Guava; see process.go. */
class Guava {
    static final long WARM_UP_NANOS = 3_000_000_000L;

    public static void main(String[] args) throws Exception {
        int all = Integer.parseInt(args[2]);
        double p = Double.parseDouble(args[3]);
        List<byte[]> keys = read(args[0], Integer.parseInt(args[1]));

        // Small parts run every loop often, so that the compiler optimizes it.
        long start = System.nanoTime();
        for (int i = 0; System.nanoTime() - start < WARM_UP_NANOS; i++) {
            var few = filter(10_000, p);
            add(few, keys.subList(0, Math.min(all, 10_000)));
            find(few, keys.subList(0, Math.min(all, 10_000)));
            find(few, keys.subList(all, Math.min(keys.size(), all + 10_000)));
        }

        var f = filter(all, p);
        System.out.println("ready " + bits(f));
        var in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            String[] words = line.split(" ");
            if (words[0].equals("empty")) {
                f = filter(all, p);
                System.out.println("0 0");
                continue;
            }
            int n = Integer.parseInt(words[2]);
            List<byte[]> part = part(keys, words[1], n);
            if (words[0].equals("fill")) {
                add(f, part);
                System.out.println("0 0");
                continue;
            }
            int found = find(f, part(keys, words[3], n));
            start = System.nanoTime();
            if (words[0].equals("add")) {
                add(f, part);
                found = 0;
            } else {
                found = find(f, part);
            }
            System.out.println(System.nanoTime() - start + " " + found);
        }
    }

    static List<byte[]> part(List<byte[]> keys, String first, int n) {
        int i = Integer.parseInt(first);
        return keys.subList(i, i + n);
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

    /** Returns the number of f's bits, from the length of its binary form. */
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
            found += f.mightContain(key) ? 1 : 0;
        }
        return found;
    }
}
