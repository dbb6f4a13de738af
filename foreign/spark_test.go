package foreign

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// The keys of testdata/spark/Living.java.

func sparkNumber(i int) int64 {
	const golden = 0x9e3779b97f4a7c15
	return int64(uint64(i+1)*golden) >> (i % 64)
}

func sparkText(i int) string {
	parts := []string{"", "a", "é", "日本", "😀", "key ", "~"}
	var b strings.Builder
	for j := range i % 9 {
		b.WriteString(parts[(i/7+j)%len(parts)])
	}
	return b.String() + strconv.Itoa(i)
}

func sparkBinary(i int) []byte {
	b := make([]byte, i%41)
	x := uint64(sparkNumber(i) | 1)
	for j := range b {
		x = x*6364136223846793005 + 1442695040888963407
		b[j] = byte(x >> 56)
	}
	return b
}

// sparkKinds has the calls for the i-th key of each of Spark's kinds of keys.
var sparkKinds = []struct {
	name     string
	contains func(f *Spark, i int) bool
	add      func(f *Spark, i int) bool
}{
	{
		"long",
		func(f *Spark, i int) bool { return f.ContainsInt64(sparkNumber(i)) },
		func(f *Spark, i int) bool { return f.AddInt64(sparkNumber(i)) },
	},
	{
		"int",
		func(f *Spark, i int) bool { return f.ContainsInt64(int64(int32(sparkNumber(i)))) },
		func(f *Spark, i int) bool { return f.AddInt64(int64(int32(sparkNumber(i)))) },
	},
	{
		"short",
		func(f *Spark, i int) bool { return f.ContainsInt64(int64(int16(sparkNumber(i)))) },
		func(f *Spark, i int) bool { return f.AddInt64(int64(int16(sparkNumber(i)))) },
	},
	{
		"string",
		func(f *Spark, i int) bool { return f.ContainsString(sparkText(i)) },
		func(f *Spark, i int) bool { return f.AddString(sparkText(i)) },
	},
	{
		"binary",
		func(f *Spark, i int) bool { return f.Contains(sparkBinary(i)) },
		func(f *Spark, i int) bool { return f.Add(sparkBinary(i)) },
	},
}

// sparkJars returns the paths in BLOOM_SPARK_JARS, which are jars of spark-sketch. If there are
// none, or if there is no Java, it skips the test unless BLOOM_REQUIRE_JAVA is set.
func sparkJars(t *testing.T) []string {
	skip := t.Skipf
	if os.Getenv("BLOOM_REQUIRE_JAVA") != "" {
		skip = t.Fatalf
	}
	for _, program := range []string{"javac", "java"} {
		if _, err := exec.LookPath(program); err != nil {
			skip("no Java: %v", err)
		}
	}
	list := os.Getenv("BLOOM_SPARK_JARS")
	if list == "" {
		skip("BLOOM_SPARK_JARS is not set")
	}
	return filepath.SplitList(list)
}

func compileSpark(t *testing.T, jar string) (classes string) {
	classes = t.TempDir()
	out, err := exec.Command("javac", "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC",
		"-proc:none", "-nowarn", "-Xlint:none", "-encoding", "UTF-8",
		"-cp", jar, "-d", classes, filepath.Join("testdata", "spark", "Living.java")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return classes
}

// javaSpark is the output of a run of Living.
type javaSpark struct {
	t     *testing.T
	data  []byte // the output that is not read yet
	whole []byte // the bytes of the last filter
}

func runSpark(t *testing.T, jar, classes string, args ...any) *javaSpark {
	line := []string{"-XX:+UseSerialGC", "-cp", jar + string(filepath.ListSeparator) + classes,
		"Living"}
	for _, arg := range args {
		line = append(line, fmt.Sprint(arg))
	}
	cmd := exec.Command("java", line...)
	cmd.Stderr = os.Stderr
	data, err := cmd.Output()
	require.NoError(t, err, "%v", args)
	return &javaSpark{t: t, data: data}
}

func (j *javaSpark) next(n int) []byte {
	require.GreaterOrEqual(j.t, len(j.data), n, "Java has written too little")
	b := j.data[:n]
	j.data = j.data[n:]
	return b
}

func (j *javaSpark) filter() []byte {
	j.whole = j.next(int(binary.BigEndian.Uint32(j.next(4))))
	return j.whole
}

// sparkFilter has the parameters of a filter that Living makes; see Living.java.
type sparkFilter struct {
	version string
	seed    int32
	keys    int
	bits    int
}

// sparkFilters returns the filters that the version of spark-sketch in jar can make. Some have
// about the given number of keys. Others have 100 keys in so few bits that most answers are true.
func sparkFilters(jar string, keys int) []sparkFilter {
	filters := []sparkFilter{{"-", 0, keys, 0}, {"-", 0, 100, 1000}}
	list, err := exec.Command("jar", "tf", jar).Output()
	if err == nil && bytes.Contains(list, []byte("BloomFilterImplV2")) {
		filters = append(filters, sparkFilter{"V2", -7, keys, 12 * keys},
			sparkFilter{"V2", 123456789, 100, 2000}, sparkFilter{"V1", 0, keys, 9*keys + 1})
	}
	return filters
}

var update = flag.Bool("update", false, "write Spark's samples")

// TestSparkSamples compares the samples with what Spark writes. With -update it writes new samples.
func TestSparkSamples(t *testing.T) {
	const keys, answers, bits = 200, 400, 1280
	jars := sparkJars(t)
	classes := compileSpark(t, jars[0])
	made := map[string]string{}
	for _, jar := range jars {
		java := runSpark(t, jar, classes, "sample", keys, answers, "-", 0, bits)
		half := java.filter()
		name := fmt.Sprintf("spark-v%d.bin", half[3])
		for _, answer := range java.next(answers) {
			made[name] += strconv.Itoa(int(answer))
		}
		java.next(keys)
		compareSample(t, name, half)
		compareSample(t, "all-"+name, java.filter())
	}
	compareSample(t, "spark-answers.json", append(bloom.Must(json.MarshalIndent(made, "", " ")), '\n'))
}

func compareSample(t *testing.T, name string, data []byte) {
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join("testdata", name), data, 0o666))
	}
	require.Equal(t, sample(t, name), data, name)
}

// TestSparkKeys: a long is hashed as its eight bytes, and a string as its UTF-8 bytes.
func TestSparkKeys(t *testing.T) {
	for _, name := range []string{"spark-v1.bin", "spark-v2.bin"} {
		f := bloom.Must(NewSpark(sample(t, name)))
		for i := range 1000 {
			number := sparkNumber(i)
			eight := binary.LittleEndian.AppendUint64(nil, uint64(number))
			require.Equal(t, f.Contains(eight), f.ContainsInt64(number), "%s, key %d", name, number)
			text := sparkText(i)
			require.Equal(t, f.Contains([]byte(text)), f.ContainsString(text), "%s, key %q", name, text)
		}
	}
}

// TestSparkHead: a version, a k or a number of words that Spark does not write is refused.
func TestSparkHead(t *testing.T) {
	for _, c := range []struct {
		head []uint32
		says string
	}{
		{[]uint32{0, 1, 1}, "it starts with 00 00 00 00, not with a 32-bit 1 or 2"},
		{[]uint32{3, 1, 0, 1}, "it starts with 00 00 00 03, not with a 32-bit 1 or 2"},
		{[]uint32{1, 0, 1}, "k = 0 is outside [1, 1024]"},
		{[]uint32{1, 1025, 1}, "k = 1025 is outside [1, 1024]"},
		{[]uint32{1, 1 << 31, 1}, "k = 2147483648 is outside [1, 1024]"},
		{[]uint32{1, 1, 0}, "its number of words, 0, is outside [1, 2147483647]"},
		{[]uint32{1, 1, 1 << 31}, "its number of words, 2147483648, is outside [1, 2147483647]"},
		{[]uint32{2, 1, 7, 0}, "its number of words, 0, is outside [1, 2147483647]"},
		{[]uint32{1, 1, 1<<31 - 1}, "truncated: unexpected EOF"},
		{[]uint32{2, 1, 7, 1<<31 - 1}, "truncated: unexpected EOF"},
		{[]uint32{2, 1, 1}, "truncated: unexpected EOF"},
		{[]uint32{1, 1, 1, 0, 0, 9}, "4 bytes follow the filter"},
	} {
		var data []byte
		for _, x := range c.head {
			data = binary.BigEndian.AppendUint32(data, x)
		}
		_, err := NewSpark(data)
		require.EqualError(t, err, "foreign: invalid format: "+c.says, "%d", c.head)
		refused(t, "spark-v1.bin", data)
	}
}

// TestSparkSeed: a filter of version 2 keeps its seed, by which it hashes.
func TestSparkSeed(t *testing.T) {
	data := sample(t, "spark-v2.bin")
	binary.BigEndian.PutUint32(data[8:], 0x80000007)
	f, err := NewSpark(data)
	require.NoError(t, err)
	require.Equal(t, data, written(t, f))
	other := bloom.Must(NewSpark(sample(t, "spark-v2.bin")))
	differ := 0
	for i := range 300 {
		if f.Contains(sampleKey(i)) != other.Contains(sampleKey(i)) {
			differ++
		}
	}
	require.Positive(t, differ)
}

// TestLivingSpark compares a million answers for each kind of key with the answers of Spark. It
// also compares the bytes, before and after further keys. BLOOM_SPARK_JARS names the versions of
// spark-sketch.
func TestLivingSpark(t *testing.T) {
	jars := sparkJars(t)
	classes := compileSpark(t, jars[0])
	answers := 1_000_000
	if testing.Short() {
		answers = 20_000
	}
	for _, jar := range jars {
		for _, kind := range sparkKinds {
			for _, of := range sparkFilters(jar, answers/10) {
				name := fmt.Sprintf("%s/%s/version=%s,keys=%d", filepath.Base(jar), kind.name,
					of.version, of.keys)
				t.Run(name, func(t *testing.T) {
					java := runSpark(t, jar, classes, kind.name, of.keys, answers, of.version, of.seed, of.bits)
					f, err := NewSpark(java.filter())
					require.NoError(t, err)
					require.True(t, bytes.Equal(java.whole, written(t, f)), "bytes before additions")
					found := 0
					for i, answer := range java.next(answers) {
						if got := kind.contains(f, i); got != (answer == 1) {
							t.Fatalf("key %d: Spark answers %d", i, answer)
						}
						found += int(answer)
					}
					require.GreaterOrEqual(t, found, of.keys)
					for i, changed := range java.next(of.keys) {
						if got := kind.add(f, of.keys+i); got != (changed == 1) {
							t.Fatalf("adding key %d: Spark answers %d", of.keys+i, changed)
						}
					}
					require.True(t, bytes.Equal(java.filter(), written(t, f)), "bytes after additions")
					require.Empty(t, java.data)
				})
			}
		}
	}
}

// TestSparkMadeInGo: a filter that docs/java.md makes has the bytes of Spark's own, and Spark
// reads it.
func TestSparkMadeInGo(t *testing.T) {
	const n, p, program = 1000, 0.01, `
import java.io.*;
import org.apache.spark.util.sketch.BloomFilter;
class Asks {
	public static void main(String[] args) throws Exception {
		BloomFilter made = BloomFilter.create(1000, 0.01);
		made.putString("ada");
		made.putLong(42);
		try (OutputStream out = new FileOutputStream(args[1])) { made.writeTo(out); }
		try (InputStream in = new FileInputStream(args[0])) {
			BloomFilter f = BloomFilter.readFrom(in);
			System.out.println(f.mightContainString("ada") + " " + f.mightContainLong(42) + " " + f.mightContainString("bob"));
		}
	}
}
`
	jars := sparkJars(t)
	m, k, err := bloom.Size(n, p)
	require.NoError(t, err)
	head := binary.BigEndian.AppendUint32(nil, 1)
	head = binary.BigEndian.AppendUint32(head, uint32(k))
	head = binary.BigEndian.AppendUint32(head, uint32(m/64))
	f, err := NewSpark(append(head, make([]byte, m/8)...))
	require.NoError(t, err)
	require.True(t, f.AddString("ada"))
	require.True(t, f.AddInt64(42))
	var ours bytes.Buffer
	require.NoError(t, onlyError(f.WriteTo(&ours)))

	dir := t.TempDir()
	source, from, to := filepath.Join(dir, "Asks.java"), filepath.Join(dir, "from"),
		filepath.Join(dir, "to")
	require.NoError(t, os.WriteFile(source, []byte(program), 0o600))
	require.NoError(t, os.WriteFile(from, ours.Bytes(), 0o600))
	for _, jar := range jars {
		path := jar + string(filepath.ListSeparator) + dir
		out, err := exec.Command("javac", "-proc:none", "-nowarn", "-cp", path, "-d", dir,
			source).CombinedOutput()
		require.NoError(t, err, "%s", out)
		out, err = exec.Command("java", "-cp", path, "Asks", from, to).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, "true true false\n", string(out), jar)
		theirs := bloom.Must(os.ReadFile(to))
		if theirs[3] == 1 { // Spark 4.1 makes V2
			require.Equal(t, theirs, ours.Bytes(), jar)
		}
	}
}

func onlyError[T any](_ T, err error) error { return err }
