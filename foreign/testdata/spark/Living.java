import java.io.*;
import java.nio.charset.StandardCharsets;
import org.apache.spark.util.sketch.BloomFilter;

// Living writes filters of Spark, and what Spark answers, to standard output.
//
//   java Living KIND KEYS ANSWERS VERSION SEED BITS
//
// KIND is long, int, short, string, binary or sample. The filter has the keys 0 to KEYS-1, and BITS bits if that is
// not 0. VERSION and SEED are those of Spark 4.1, or "-" for what BloomFilter.create makes. Living
// writes the filter, an answer for each key up to ANSWERS, KEYS more keys of which it writes whether
// each changed the filter, and the filter again. A filter comes after its length.
public class Living {
  static long number(int i) {
    long x = (i + 1) * 0x9e3779b97f4a7c15L;
    return x >> (i % 64);
  }

  static String text(int i) {
    String[] parts = {"", "a", "é", "日本", "\ud83d\ude00", "key ", "~"};
    StringBuilder b = new StringBuilder();
    for (int j = 0; j < i % 9; j++) {
      b.append(parts[(i / 7 + j) % parts.length]);
    }
    return b.append(i).toString();
  }

  static byte[] binary(int i) {
    byte[] b = new byte[i % 41];
    long x = number(i) | 1;
    for (int j = 0; j < b.length; j++) {
      x = x * 6364136223846793005L + 1442695040888963407L;
      b[j] = (byte) (x >>> 56);
    }
    return b;
  }

  static Object key(String kind, int i) {
    switch (kind) {
      case "long": return number(i);
      case "int": return (int) number(i);
      case "short": return (short) number(i);
      case "string": return text(i);
      case "sample": return "bloom".repeat(i % 13) + i;
      default: return binary(i);
    }
  }

  static void write(DataOutputStream out, BloomFilter f) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    f.writeTo(bytes);
    out.writeInt(bytes.size());
    bytes.writeTo(out);
  }

  public static void main(String[] args) throws Exception {
    String kind = args[0];
    int keys = Integer.parseInt(args[1]);
    int answers = Integer.parseInt(args[2]);
    long bits = Long.parseLong(args[5]);
    BloomFilter f;
    if (!args[3].equals("-")) {
      // By reflection, as Spark 3 has neither versions nor seeds.
      Class<?> version = Class.forName("org.apache.spark.util.sketch.BloomFilter$Version");
      f = (BloomFilter) BloomFilter.class
          .getMethod("create", version, long.class, long.class, int.class)
          .invoke(null, version.getField(args[3]).get(null), (long) keys, bits, Integer.parseInt(args[4]));
    } else if (bits != 0) {
      f = BloomFilter.create(keys, bits);
    } else {
      f = BloomFilter.create(keys, 0.01);
    }
    for (int i = 0; i < keys; i++) {
      f.put(key(kind, i));
    }
    DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 16));
    write(out, f);
    for (int i = 0; i < answers; i++) {
      out.writeBoolean(f.mightContain(key(kind, i)));
    }
    for (int i = keys; i < 2 * keys; i++) {
      out.writeBoolean(f.put(key(kind, i)));
    }
    write(out, f);
    out.flush();
  }
}
