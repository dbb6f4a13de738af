package bloomredis

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// Guava reads the string under the key, and this package what Guava writes there.
func TestGuavaReadsTheKey(t *testing.T) {
	const jar = "/usr/share/java/guava.jar"
	java, err := exec.LookPath("java")
	if err == nil {
		_, err = os.Stat(jar)
	}
	if err != nil {
		if os.Getenv("BLOOM_REQUIRE_JAVA") != "" {
			t.Fatal("BLOOM_REQUIRE_JAVA is set, and: ", err)
		}
		t.Skip("there is no Java with Guava, which Debian has in packages default-jdk-headless and libguava-java: ", err)
	}
	client := startServer(t).client()
	f := openFilter(t, client, 10_000, 1e-4)
	for i := range 1000 {
		mustAdd(t, f, bloom.SumString("key"+strconv.Itoa(i)))
	}

	cmd := exec.Command(java, "-cp", jar, "testdata/Guava.java")
	data, err := client.Get(ctx, "f").Bytes()
	require.NoError(t, err)
	cmd.Stdin = bytes.NewReader(data)
	var said bytes.Buffer
	cmd.Stderr = &said
	written, err := cmd.Output()
	require.NoError(t, err, "%s", &said)
	assert.Equal(t, "1000 of 1000, "+strconv.FormatUint(stored(t, f).ApproxCount(), 10)+" in all\n", said.String())

	requireFound(t, f, false, bloom.SumString("from Java"))
	require.NoError(t, client.Set(ctx, "f", written, 0).Err())
	requireFound(t, f, true, bloom.SumString("from Java"))
}
