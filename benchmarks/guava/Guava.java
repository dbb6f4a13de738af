import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnels;
import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.FileInputStream;
import java.io.InputStreamReader;
import java.util.Arrays;

/** Measures Guava's BloomFilter; foreign.go says by what rules. */
class Guava {
    static final int ADD = 0, PRESENT = 1, ABSENT = 2, OPS = 3;
    static final int ABSENT_KEYS = 1_000_000;
    static final long WARM_UP_NANOS = 3_000_000_000L;

    final int window, passes;
    final double p;
    final byte[][] added, absent;

    Guava(byte[][] added, byte[][] absent, int window, int passes, double p) {
        this.added = added;
        this.absent = absent;
        this.window = window;
        this.passes = passes;
        this.p = p;
    }

    public static void main(String[] args) throws Exception {
        int width = Integer.parseInt(args[1]), n = Integer.parseInt(args[2]);
        Guava all;
        try (var in = new DataInputStream(new BufferedInputStream(new FileInputStream(args[0]), 1 << 20))) {
            all = new Guava(read(in, n, width), read(in, ABSENT_KEYS, width),
                    Integer.parseInt(args[3]), Integer.parseInt(args[4]), Double.parseDouble(args[5]));
        }

        // Rounds of a small share of the keys let the compiler see every loop
        // often; then one round of all.
        int share = Math.min(n, 10_000);
        var few = new Guava(Arrays.copyOf(all.added, share), Arrays.copyOf(all.absent, 100_000), share, 10, all.p);
        long start = System.nanoTime();
        for (int round = 0; System.nanoTime() - start < WARM_UP_NANOS; round++) {
            few.round(round);
        }
        all.round(0);

        var f = all.filter();
        add(f, all.added);
        System.out.println("ready " + bits(f) + " " + count(f, all.absent, 0, ABSENT_KEYS));

        var in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            var out = new StringBuilder();
            for (double ns : all.round(Integer.parseInt(line))) {
                out.append(ns).append(' ');
            }
            System.out.println(out);
        }
    }

    static byte[][] read(DataInputStream in, int n, int width) throws Exception {
        var keys = new byte[n][width];
        for (byte[] key : keys) {
            in.readFully(key);
        }
        return keys;
    }

    BloomFilter<byte[]> filter() {
        return BloomFilter.create(Funnels.byteArrayFunnel(), added.length, p);
    }

    /** The bits of its words, as its binary form counts them. */
    static long bits(BloomFilter<byte[]> f) throws Exception {
        var out = new java.io.ByteArrayOutputStream();
        f.writeTo(out);
        return (out.size() - 6) * 8L;
    }

    double[] round(int round) {
        double[] ns = new double[OPS];
        BloomFilter<byte[]> f = null;
        for (int pass = 0; pass < passes; pass++) {
            f = filter();
            long start = System.nanoTime();
            add(f, added);
            ns[ADD] += System.nanoTime() - start;
        }
        ns[ADD] /= (double) passes * added.length;
        for (int op = PRESENT; op <= ABSENT; op++) {
            byte[][] keys = op == PRESENT ? added : absent;
            int found = 0;
            for (int pass = 0; pass < passes; pass++) {
                int from = (round * passes + pass) % (keys.length / window) * window;
                long start = System.nanoTime();
                found += count(f, keys, from, from + window);
                ns[op] += System.nanoTime() - start;
            }
            if (op == PRESENT && found != passes * window) {
                throw new AssertionError("found " + found);
            }
            ns[op] /= (double) passes * window;
        }
        return ns;
    }

    static void add(BloomFilter<byte[]> f, byte[][] keys) {
        for (byte[] key : keys) {
            f.put(key);
        }
    }

    static int count(BloomFilter<byte[]> f, byte[][] keys, int from, int to) {
        int found = 0;
        for (int i = from; i < to; i++) {
            if (f.mightContain(keys[i])) {
                found++;
            }
        }
        return found;
    }
}
