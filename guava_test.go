package bloom_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// guavaJars returns the Guavas to test against: BLOOM_GUAVA_JARS, a list of
// paths, or Debian's. Without one, or without Java, the test is skipped
// unless BLOOM_REQUIRE_JAVA is set.
func guavaJars(t *testing.T) (jars []string) {
	skip := t.Skipf
	if os.Getenv("BLOOM_REQUIRE_JAVA") != "" {
		skip = t.Fatalf
	}
	for _, program := range []string{"javac", "java"} {
		if _, err := exec.LookPath(program); err != nil {
			skip("no Java: %v", err)
		}
	}
	list := os.Getenv("BLOOM_GUAVA_JARS")
	if list == "" {
		const debian = "/usr/share/java/guava.jar"
		if _, err := os.Stat(debian); err != nil {
			skip("BLOOM_GUAVA_JARS is not set, and there is no %s", debian)
		}
		list = debian
	}
	return filepath.SplitList(list)
}

// javaGuava is a Java process that runs testdata/guava/Living.java.
type javaGuava struct {
	t   *testing.T
	w   *bufio.Writer
	r   *bufio.Reader
	rnd *rand.Rand
	byP bool // this Guava makes k of p alone, as versions from 33.4 on do
}

// compileGuava compiles Living.java with the given version of Guava. The classes run with any
// version. The options make the compiler start fast.
func compileGuava(t *testing.T, jar string) (classes string) {
	classes = t.TempDir()
	out, err := exec.Command("javac", "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC",
		"-proc:none", "-nowarn", "-Xlint:none", "-encoding", "UTF-8",
		"-cp", jar, "-d", classes, filepath.Join("testdata", "guava", "Living.java")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return classes
}

func startGuava(t *testing.T, jar, classes string, rnd *rand.Rand) *javaGuava {
	cmd := exec.Command("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
		"-cp", jar+string(filepath.ListSeparator)+classes, "com.google.common.hash.Living")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		stdin.Close()
		require.NoError(t, cmd.Wait())
	})
	return &javaGuava{t: t, w: bufio.NewWriter(stdin), r: bufio.NewReader(stdout), rnd: rnd}
}

// send appends vs to a request; a []byte comes after its length. If a write fails, reply reports
// it.
func (g *javaGuava) send(vs ...any) {
	for _, v := range vs {
		if b, ok := v.([]byte); ok {
			g.send(uint32(len(b)))
			g.w.Write(b)
			continue
		}
		binary.Write(g.w, binary.BigEndian, v)
	}
}

func (g *javaGuava) sendKeys(keys []funnelKey) {
	g.send(uint32(len(keys)))
	for _, key := range keys {
		g.send(key.bytes)
	}
}

// reply returns the answer to the request sent.
func (g *javaGuava) reply() *bytes.Reader {
	require.NoError(g.t, g.w.Flush())
	var n uint32
	require.NoError(g.t, binary.Read(g.r, binary.BigEndian, &n))
	answer := make([]byte, n)
	_, err := io.ReadFull(g.r, answer)
	require.NoError(g.t, err)
	return bytes.NewReader(answer)
}

func receive[T any](t *testing.T, r io.Reader) (v T) {
	if err := binary.Read(r, binary.BigEndian, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// agree compares f with the filter in answer, which Guava sent: its bytes, its figures, and its
// answers for probes.
func (g *javaGuava) agree(answer io.Reader, f *bloom.Filter, probes []funnelKey) []byte {
	g.t.Helper()
	if count := receive[int64](g.t, answer); count >= 0 {
		require.EqualValues(g.t, count, f.ApproxCount())
	} else {
		require.Equal(g.t, f.M(), f.OnesCount())
	}
	expectedFpp := receive[float64](g.t, answer)
	added := bloom.DoubleHashing(f.FillRatio(), f.M(), f.K()) * (1 - expectedFpp)
	require.InDelta(g.t, expectedFpp+added, f.FPR(), 1e-12*f.FPR())
	form := make([]byte, receive[uint32](g.t, answer))
	_, err := io.ReadFull(answer, form)
	require.NoError(g.t, err)
	want, err := f.MarshalBinary()
	require.NoError(g.t, err)
	require.True(g.t, bytes.Equal(want, form), "binary forms differ")
	view, err := bloom.NewView(form)
	require.NoError(g.t, err)
	for _, key := range probes {
		contains := receive[bool](g.t, answer)
		if contains != f.ContainsHash(key.hash) || contains != view.ContainsHash(key.hash) {
			g.t.Fatalf("%q: Guava answers %v", key.bytes, contains)
		}
	}
	return form
}

// funnelKey is a key as it goes to Java, and its digest here.
type funnelKey struct {
	bytes []byte
	hash  bloom.Hash
}

var funnels = []struct {
	name string
	key  func(*rand.Rand) funnelKey
}{
	{"byteArray", func(rnd *rand.Rand) funnelKey {
		b := make([]byte, keyLen(rnd))
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		return funnelKey{b, bloom.Sum(b)}
	}},
	{"string", func(rnd *rand.Rand) funnelKey {
		s := randomText(rnd)
		return funnelKey{[]byte(s), bloom.SumString(s)}
	}},
	{"unencodedChars", func(rnd *rand.Rand) funnelKey {
		s := randomText(rnd)
		return funnelKey{[]byte(s), bloom.SumUTF16(s)}
	}},
	{"integer", func(rnd *rand.Rand) funnelKey {
		i := rnd.Uint32() >> rnd.UintN(32)
		return funnelKey{binary.BigEndian.AppendUint32(nil, i), bloom.SumUint32(i)}
	}},
	{"long", func(rnd *rand.Rand) funnelKey {
		i := rnd.Uint64() >> rnd.UintN(64)
		return funnelKey{binary.BigEndian.AppendUint64(nil, i), bloom.SumUint64(i)}
	}},
}

// keyLen returns mostly short lengths, and some past every cut-off in Sum.
func keyLen(rnd *rand.Rand) int {
	if rnd.IntN(10) == 0 {
		return rnd.IntN(400)
	}
	return rnd.IntN(40)
}

// randomText mixes ASCII, Latin, Chinese and characters beyond 16 bits.
func randomText(rnd *rand.Rand) string {
	scripts := [][2]rune{{0, 0x7f}, {0x80, 0x7ff}, {0x800, 0xd7ff}, {0xe000, 0xffff},
		{0x10000, 0x10ffff}}
	if rnd.IntN(2) == 0 {
		scripts = scripts[:1]
	}
	s := make([]rune, keyLen(rnd))
	for i := range s {
		from := scripts[rnd.IntN(len(scripts))]
		s[i] = from[0] + rnd.Int32N(from[1]-from[0]+1)
	}
	return string(s)
}

// TestLivingGuava sends filters to and fro between Java and Go. BLOOM_GUAVA_JARS
// names the versions of Guava.
func TestLivingGuava(t *testing.T) {
	jars := guavaJars(t)
	classes := compileGuava(t, jars[0])
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	for _, jar := range jars {
		t.Run(filepath.Base(jar), func(t *testing.T) {
			const seed = 17
			t.Logf("seed %d", seed)
			g := startGuava(t, jar, classes, rand.New(rand.NewPCG(seed, seed)))
			g.sizing()
			for _, strategy := range []bloom.Strategy{bloom.Mitz32, bloom.Mitz64} {
				for funnel := range funnels {
					for range rounds {
						g.roundTrip(strategy, funnel)
						g.fold(strategy, funnel)
					}
				}
			}
		})
	}
}

// roundTrip lets Java write a filter. Go reads it, adds keys, merges another filter with it and
// writes it. Then Java reads it.
func (g *javaGuava) roundTrip(strategy bloom.Strategy, funnel int) {
	t := g.t
	keys := func(n int) []funnelKey {
		keys := make([]funnelKey, n)
		for i := range keys {
			keys[i] = funnels[funnel].key(g.rnd)
		}
		return keys
	}
	n := uint64(math.Exp(8 * g.rnd.Float64())) // 1 to 2980
	p := math.Exp(-0.5 - 10*g.rnd.Float64())   // 0.6 to 3e-5
	javas, gos, others := keys(int(n)), keys(g.rnd.IntN(500)), keys(g.rnd.IntN(500))
	probes := append(keys(1000), append(javas, append(gos, others...)...)...)
	where := fmt.Sprintf("%v/%s/n=%d/p=%v", strategy, funnels[funnel].name, n, p)

	g.send(byte('c'), byte(strategy), byte(funnel), n, p)
	g.sendKeys(javas)
	g.sendKeys(probes)
	answer := g.reply()
	f := bloom.Must(bloom.NewWithStrategy(strategy, n, p))
	if k := int(receive[uint8](t, answer)); k != f.K() {
		require.True(t, g.byP, "%s: k = %d and %d", where, k, f.K())
		f = bloom.NewFilter(strategy, int(f.M()/64), k)
	}
	other := bloom.NewFilter(strategy, int(f.M()/64), f.K())
	for _, key := range javas {
		if put := receive[bool](t, answer); put != f.AddHash(key.hash) {
			t.Fatalf("%s: put %q: Guava answers %v", where, key.bytes, put)
		}
	}
	form := g.agree(answer, f, probes)

	var read bloom.Filter
	require.NoError(t, read.UnmarshalBinary(form), where)
	for _, key := range gos {
		read.AddHash(key.hash)
	}
	before, err := read.MarshalBinary()
	require.NoError(t, err)
	for _, key := range others {
		other.AddHash(key.hash)
	}
	require.NoError(t, read.Merge(other), where)
	path := filepath.Join(t.TempDir(), "f")
	info := bloom.Info{N: n * g.rnd.Uint64N(2), P: p, Hash: funnels[funnel].name,
		Comment: randomText(g.rnd)}
	if g.rnd.IntN(2) == 0 {
		info = bloom.Info{}
	}
	read.UpdateInfo(func(i *bloom.Info) { *i = info })
	require.NoError(t, read.SaveFile(path))
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, info, bloom.Must(bloom.NewView(file)).Info())

	g.send(byte('r'), byte(funnel), file)
	g.sendKeys(probes)
	answer = g.reply()
	require.EqualValues(t, len(file)-int(read.SizeBytes()), receive[uint32](t, answer),
		"%s: bytes that Java left", where)
	g.agree(answer, &read, probes)

	otherForm, err := other.MarshalBinary()
	require.NoError(t, err)
	g.send(byte('m'), byte(funnel), before, otherForm)
	g.sendKeys(probes)
	g.agree(g.reply(), &read, probes)
}

// fold lets Java put the same keys into a large filter and a small one. Go folds the large one, and
// Java reads the result.
func (g *javaGuava) fold(strategy bloom.Strategy, funnel int) {
	t := g.t
	keys, probes := make([]funnelKey, 200), make([]funnelKey, 1000)
	for _, ks := range [][]funnelKey{keys, probes} {
		for i := range ks {
			ks[i] = funnels[funnel].key(g.rnd)
		}
	}
	probes = append(probes, keys...)
	words, d, k := 1+g.rnd.Uint64N(30), 1+g.rnd.Uint64N(12), 1+g.rnd.IntN(20)
	f, small := bloom.NewFilter(strategy, int(words*d), k), bloom.NewFilter(strategy, int(words), k)
	put := func(f *bloom.Filter, form []byte, keys []funnelKey) []byte {
		g.send(byte('p'), byte(funnel), form)
		g.sendKeys(keys)
		g.sendKeys(probes)
		return g.agree(g.reply(), f, probes)
	}
	empty, emptySmall := bloom.Must(f.MarshalBinary()), bloom.Must(small.MarshalBinary())
	for _, key := range keys {
		f.AddHash(key.hash)
	}
	require.NoError(t, f.UnmarshalBinary(put(f, empty, keys)))
	folded, err := f.Fold(int(d))
	require.NoError(t, err)
	put(folded, emptySmall, keys)
	put(folded, bloom.Must(folded.MarshalBinary()), nil)
}

// sizing compares m and k for random parameters. It also compares k for parameters for which the
// two rules for k differ.
func (g *javaGuava) sizing() {
	t := g.t
	type params struct {
		n uint64
		p float64
	}
	var all []params
	for n := range uint64(100) {
		all = append(all, params{n + 1, 0.01})
	}
	for range 2000 {
		n := uint64(math.Exp(21 * g.rnd.Float64()))
		p := math.Exp(-30 * g.rnd.Float64())
		if g.rnd.IntN(2) == 0 { // log2(1/p) a little above a half-integer
			p = math.Exp2(-float64(g.rnd.IntN(40)) - 0.5 - g.rnd.Float64()/float64(n))
		}
		all = append(all, params{n, p})
	}
	g.send(byte('s'), uint32(len(all)))
	for _, a := range all {
		g.send(a.n, a.p)
	}
	answer := g.reply()
	g.byP = receive[bool](t, answer)
	differ := 0
	for _, a := range all {
		m, k := receive[int64](t, answer), int(receive[int32](t, answer))
		if ours := bloom.OptimalM(a.n, a.p); int64(ours) != m {
			t.Fatalf("%+v: m is %d, and %d here", a, m, ours)
		}
		ours := bloom.OptimalK(uint64(m), a.n)
		if !g.byP {
			require.Equal(t, k, ours, "%+v", a)
			continue
		}
		// OptimalK's m lacks a fraction t of a bit, so it rounds
		// log2(1/p) - t ln 2/n.
		over := -math.Log2(a.p) - 0.5
		over -= math.Floor(over)
		bits := -float64(a.n) * math.Log2(a.p) / math.Ln2
		lost := (bits - math.Floor(bits)) * math.Ln2 / float64(a.n)
		if k != ours {
			differ++
			require.Equal(t, k, ours+1, "%+v", a)
		}
		if a.p == 0.01 {
			require.Equal(t, a.n == 1 || a.n == 3, k != ours, "%+v", a)
		}
		if math.Abs(over-lost) > 1e-12 && over < 1-1e-12 && -math.Log2(a.p) > 1.5 {
			require.Equal(t, over < lost, k != ours, "%+v: %v %v", a, over, lost)
		}
	}
	t.Logf("k = round(log2(1/p)): %v, which differs for %d of %d", g.byP, differ, len(all))
}

// streams are the classes in docs/java.md for other systems. Each main prints the keys that its
// class lets through.
var streams = []struct {
	name    string
	jars    string // the variable with the jars of the system
	class   string
	imports string
	main    string
	want    string // of the keys zoë, which was added, and ada
}{
	{"Flink", "BLOOM_FLINK_JARS", "Unknown", "import org.apache.flink.api.common.functions.*;", `
		Unknown unknown = new Unknown();
		unknown.open((OpenContext) null);
		for (String key : keys) if (unknown.filter(key)) System.out.println(key);`, "ada\n"},
	{"Kafka Streams", "BLOOM_KAFKA_JARS", "Known", `
import java.lang.reflect.*;
import org.apache.kafka.streams.processor.api.*;
import org.apache.kafka.streams.processor.api.Record; // not java.lang's`, `
		ProcessorSupplier<String, String, String, String> supplier = Known::new;
		Processor<String, String, String, String> known = supplier.get();
		Class<?>[] types = {ProcessorContext.class};
		InvocationHandler print = (context, method, arguments) -> {
			if (method.getName().equals("forward")) {
				System.out.println(((Record<?, ?>) arguments[0]).key());
			}
			return null;
		};
		known.init((ProcessorContext<String, String>)
			Proxy.newProxyInstance(Main.class.getClassLoader(), types, print));
		for (String key : keys) known.process(new Record<>(key, "", 0));`, "zoë\n"},
}

// TestStreams: the classes in docs/java.md compile with the jars of Flink, Kafka and Guava, and ask
// a filter that Go made.
func TestStreams(t *testing.T) {
	guava := guavaJars(t)[0]
	for _, s := range streams {
		t.Run(s.name, func(t *testing.T) {
			jars := os.Getenv(s.jars)
			if jars == "" {
				require.Empty(t, os.Getenv("BLOOM_REQUIRE_JAVA"), "%s is not set", s.jars)
				t.Skipf("%s is not set", s.jars)
			}
			head := "public class " + s.class
			page := string(bloom.Must(os.ReadFile("docs/java.md")))
			_, class, ok := strings.Cut(page, "```java\n"+head)
			require.True(t, ok)
			class, _, _ = strings.Cut(class, "```")
			source := `import static java.nio.charset.StandardCharsets.UTF_8;
import com.google.common.hash.*;
import java.io.*;
` + s.imports + "\n" + head + class + `
class Main {
	public static void main(String[] keys) throws Exception {` + s.main + `
	}
}
`
			dir := t.TempDir()
			program := filepath.Join(dir, s.class+".java")
			require.NoError(t, os.WriteFile(program, []byte(source), 0o600))
			path := strings.Join([]string{jars, guava, dir}, string(filepath.ListSeparator))
			out, err := exec.Command("javac", "-proc:none", "-nowarn", "-encoding", "UTF-8",
				"-cp", path, "-d", dir, program).CombinedOutput()
			require.NoError(t, err, "%s", out)

			f := bloom.Must(bloom.New(1000, 1e-9))
			f.AddString("zoë")
			f.UpdateInfo(func(i *bloom.Info) { i.Hash = "stringFunnel(UTF_8)" })
			require.NoError(t, f.SaveFile(filepath.Join(dir, "list.bloom")))
			cmd := exec.Command("java", "-Dfile.encoding=UTF-8", "-Dsun.jnu.encoding=UTF-8",
				"-Dstdout.encoding=UTF-8", "-cp", path, "Main", "zoë", "ada")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
			out, err = cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Equal(t, s.want, string(out))
		})
	}
}
