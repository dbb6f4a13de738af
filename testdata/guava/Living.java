package com.google.common.hash; // create(Funnel, long, double, Strategy) is package-private

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;

/** Answers guava_test.go's requests on standard input until it ends. */
public final class Living {
  private static DataInputStream in;
  private static DataOutputStream out;

  public static void main(String[] args) throws Exception {
    in = new DataInputStream(new java.io.BufferedInputStream(System.in));
    ByteArrayOutputStream reply = new ByteArrayOutputStream();
    for (int request; (request = in.read()) >= 0; ) {
      reply.reset();
      out = new DataOutputStream(reply);
      switch (request) {
        case 'c': create(); break;
        case 'r': read(); break;
        case 'm': merge(); break;
        case 'p': put(); break;
        case 's': size(); break;
        default: throw new IOException("request " + request);
      }
      DataOutputStream stdout = new DataOutputStream(System.out);
      stdout.writeInt(reply.size());
      reply.writeTo(stdout);
      stdout.flush();
    }
  }

  /** Creates a filter, tells its number of hashes, puts keys and shows it. */
  private static void create() throws IOException {
    BloomFilterStrategies strategy = BloomFilterStrategies.values()[in.readByte()];
    int funnel = in.readByte();
    BloomFilter<Object> f = BloomFilter.create(funnel(funnel), in.readLong(), in.readDouble(), strategy);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    f.writeTo(bytes);
    out.writeByte(bytes.toByteArray()[1]);
    for (int n = in.readInt(); n > 0; n--) {
      out.writeBoolean(f.put(key(funnel)));
    }
    show(f, funnel);
  }

  /** Reads a filter from bytes that may be longer, and shows it. */
  private static void read() throws IOException {
    int funnel = in.readByte();
    ByteArrayInputStream bytes = new ByteArrayInputStream(bytes());
    BloomFilter<Object> f = BloomFilter.readFrom(bytes, funnel(funnel));
    out.writeInt(bytes.available());
    show(f, funnel);
  }

  /** Reads two filters, and shows their union. */
  private static void merge() throws IOException {
    int funnel = in.readByte();
    BloomFilter<Object> f = BloomFilter.readFrom(new ByteArrayInputStream(bytes()), funnel(funnel));
    f.putAll(BloomFilter.readFrom(new ByteArrayInputStream(bytes()), funnel(funnel)));
    show(f, funnel);
  }

  /** Reads a filter, puts keys and shows it. */
  private static void put() throws IOException {
    int funnel = in.readByte();
    BloomFilter<Object> f = BloomFilter.readFrom(new ByteArrayInputStream(bytes()), funnel(funnel));
    for (int n = in.readInt(); n > 0; n--) {
      f.put(key(funnel));
    }
    show(f, funnel);
  }

  /** Writes a filter's estimates, its bytes, and its answers to the probes that follow. */
  private static void show(BloomFilter<Object> f, int funnel) throws IOException {
    long count;
    try {
      count = f.approximateElementCount();
    } catch (ArithmeticException e) { // every bit is set
      count = -1;
    }
    out.writeLong(count);
    out.writeDouble(f.expectedFpp());
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    f.writeTo(bytes);
    out.writeInt(bytes.size());
    bytes.writeTo(out);
    for (int n = in.readInt(); n > 0; n--) {
      out.writeBoolean(f.mightContain(key(funnel)));
    }
  }

  /** Writes the number of bits and of hashes for n and p. */
  private static void size() throws Exception {
    Method byP = null;
    try { // Guava 33.4 and later
      byP = BloomFilter.class.getDeclaredMethod("optimalNumOfHashFunctions", double.class);
    } catch (NoSuchMethodException e) {
    }
    Method byM = byP != null ? null
        : BloomFilter.class.getDeclaredMethod("optimalNumOfHashFunctions", long.class, long.class);
    out.writeBoolean(byP != null);
    for (int i = in.readInt(); i > 0; i--) {
      long n = in.readLong();
      double p = in.readDouble();
      long m = BloomFilter.optimalNumOfBits(n, p);
      out.writeLong(m);
      out.writeInt((int) (byP != null ? byP.invoke(null, p) : byM.invoke(null, n, m)));
    }
  }

  @SuppressWarnings("unchecked")
  private static Funnel<Object> funnel(int i) {
    Funnel<?>[] funnels = {
      Funnels.byteArrayFunnel(), Funnels.stringFunnel(UTF_8), Funnels.unencodedCharsFunnel(),
      Funnels.integerFunnel(), Funnels.longFunnel(),
    };
    return (Funnel<Object>) funnels[i];
  }

  private static Object key(int funnel) throws IOException {
    byte[] bytes = bytes();
    switch (funnel) {
      case 0: return bytes;
      case 1:
      case 2: return new String(bytes, UTF_8);
      case 3: return ByteBuffer.wrap(bytes).getInt();
      default: return ByteBuffer.wrap(bytes).getLong();
    }
  }

  private static byte[] bytes() throws IOException {
    byte[] bytes = new byte[in.readInt()];
    in.readFully(bytes);
    return bytes;
  }
}
