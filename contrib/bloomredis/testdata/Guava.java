import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnels;

/** Reads a filter, says on standard error what it holds, adds a key and writes it. */
public class Guava {
  public static void main(String[] args) throws Exception {
    BloomFilter<byte[]> filter = BloomFilter.readFrom(System.in, Funnels.byteArrayFunnel());
    if (System.in.read() != -1) {
      throw new Exception("bytes after the filter");
    }
    int found = 0;
    for (int i = 0; i < 1000; i++) {
      if (filter.mightContain(("key" + i).getBytes("UTF-8"))) {
        found++;
      }
    }
    System.err.println(found + " of 1000, " + filter.approximateElementCount() + " in all");
    filter.put("from Java".getBytes("UTF-8"));
    filter.writeTo(System.out);
    System.out.flush();
  }
}
