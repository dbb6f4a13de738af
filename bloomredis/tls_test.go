package bloomredis

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// Everything works over TLS with certificates on both sides, and nothing without.
func TestTLS(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	dir := t.TempDir()
	write := func(name, kind string, data []byte) (path string) {
		path = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600))
		return path
	}
	certFile, keyFile := write("cert.pem", "CERTIFICATE", cert), write("key.pem", "PRIVATE KEY", secret)

	port := freePort(t)
	startServer(t, "--tls-port", strconv.Itoa(port), "--tls-cert-file", certFile, "--tls-key-file", keyFile, "--tls-ca-cert-file", certFile)
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(pair.Leaf)
	connect := func(config *tls.Config) *redis.Client {
		client := redis.NewClient(&redis.Options{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), TLSConfig: config, MaxRetries: -1, DialerRetries: 1})
		t.Cleanup(func() { client.Close() })
		return client
	}
	const n = 1_000_000 // merged in two pieces
	client := connect(&tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}})
	f := openFilter(t, client, n, 0.01)
	g := bloom.Must(bloom.New(n, 0.01))
	g.AddBatch(nil, hashes(0, 10_000))
	require.NoError(t, f.Merge(ctx, g))
	requireAdded(t, f, true, bloom.SumString("a"))
	g.AddString("a")
	assert.True(t, full(t, f).Full.Equal(g))
	mustAdd(t, openWindow(t, client, WindowConfig{N: 100, P: 0.01, Span: time.Hour}), bloom.SumString("a"))

	for _, config := range []*tls.Config{nil, {}, {RootCAs: roots}} {
		_, err := Open(ctx, connect(config), "f", n, 0.01)
		require.Error(t, err)
	}
}
