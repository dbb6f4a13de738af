package bloombenthos

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	mrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/redpanda-data/benthos/v4/public/service/integration"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// startRedis starts a server, with more arguments, and returns its URL and what kills it.
func startRedis(t *testing.T, args ...string) (url string, kill func()) {
	t.Helper()
	_, err := exec.LookPath("redis-server")
	if err != nil && os.Getenv("BLOOM_REQUIRE_REDIS") == "" {
		t.Skip("there is no redis-server: Debian has it in package redis-server")
	}
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "bloom") // a socket's path is short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "socket")
	url = "unix://" + socket
	return url, restartRedis(t, url, args...)
}

// restartRedis starts the server with a URL.
func restartRedis(t *testing.T, url string, args ...string) (kill func()) {
	t.Helper()
	socket := strings.TrimPrefix(url, "unix://")
	server, ended := exec.Command("redis-server",
		append([]string{"--port", "0", "--unixsocket", socket, "--save", "", "--dir",
			filepath.Dir(socket)}, args...)...), make(chan struct{})
	require.NoError(t, server.Start())
	go func() {
		defer close(ended)
		_ = server.Wait()
	}()
	kill = func() {
		_ = server.Process.Kill()
		<-ended
	}
	t.Cleanup(kill)
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: socket})
	defer client.Close()
	soon(t, func() bool {
		select {
		case <-ended:
			require.Fail(t, "the server has ended", server.ProcessState)
		default:
		}
		return client.Ping(context.Background()).Err() == nil
	})
	return kill
}

// The server asks for a certificate, and has one that only this test's root vouches for.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	certify := func(name string, ip ...net.IP) (cert, key string) {
		secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		template := &x509.Certificate{
			SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true,
			BasicConstraintsValid: true, IPAddresses: ip,
			Subject: pkix.Name{CommonName: name},
		}
		public, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
		require.NoError(t, err)
		private, err := x509.MarshalPKCS8PrivateKey(secret)
		require.NoError(t, err)
		write := func(file, kind string, data []byte) string {
			path := filepath.Join(dir, name+file)
			require.NoError(t, os.WriteFile(path,
				pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600))
			return path
		}
		return write("-cert.pem", "CERTIFICATE", public), write("-key.pem", "PRIVATE KEY", private)
	}
	cert, key := certify("ours", net.IPv4(127, 0, 0, 1))
	theirCert, theirKey := certify("theirs", net.IPv4(127, 0, 0, 1))
	url, _ := startRedis(t, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert)
	client := redis.NewClient(bloom.Must(redis.ParseURL(url)))
	defer client.Close()
	port := ""
	soon(t, func() bool { // one that is free
		port = strconv.Itoa(10_000 + mrand.IntN(20_000))
		return client.ConfigSet(context.Background(), "tls-port", port).Err() == nil
	})

	for _, test := range []struct{ scheme, tls, want string }{
		{"redis", fmt.Sprintf("{enabled: true, root_cas_file: %s, client_certs: [{cert_file: %s, "+
			"key_file: %s}]}", cert, cert, key), ""},
		{"rediss", fmt.Sprintf(
			"{enabled: true, root_cas_file: %s, client_certs: [{cert_file: %s, key_file: %s}]}",
			cert, cert, key), ""},
		{"redis", fmt.Sprintf("{enabled: true, skip_cert_verify: true, client_certs: "+
			"[{cert_file: %s, key_file: %s}]}", cert, key), ""},
		{"redis", fmt.Sprintf("{enabled: true, root_cas_file: %s, client_certs: [{cert_file: %s, "+
			"key_file: %s}]}", theirCert, cert, key), "unknown authority"},
		{"rediss", "{}", "unknown authority"},
		// the server says why, or hangs up,
		{"redis", fmt.Sprintf("{enabled: true, root_cas_file: %s}", cert), "url, key: 127.0.0.1:" + port},
		{"redis", fmt.Sprintf("{enabled: true, root_cas_file: %s, client_certs: [{cert_file: %s, "+
			"key_file: %s}]}", cert, theirCert, theirKey), "url, key: 127.0.0.1:" + port},
		{"redis", fmt.Sprintf("{enabled: true, root_cas_file: %s/none}", dir), "tls: "},
		{"redis", "{}", "url, key: 127.0.0.1:" + port},
	} {
		conf := fmt.Sprintf("%sbloom_redis: {url: '%s://127.0.0.1:%s', key: ids, capacity: 1000, "+
			"span: 1h, tls: %s}", dedupe, test.scheme, port, test.tls)
		s := start(t, conf)
		if test.want != "" {
			assert.ErrorContains(t, s.open(), test.want, test.tls)
			continue
		}
		require.NoError(t, s.open(), test.tls)
		id := test.scheme + test.tls
		assert.Equal(t, []string{id}, s.send(id, id))
	}
}

func TestRedis(t *testing.T) {
	url, kill := startRedis(t)
	conf := fmt.Sprintf("%sbloom_redis: {url: '%s', key: ids, capacity: 1000, span: 1h}", dedupe, url)
	a, b := start(t, conf), start(t, conf)
	assert.Equal(t, []string{"1", "2"}, a.send("1", "2", "1"))
	assert.Equal(t, []string{"3"}, b.send("2", "3", "1"))
	assert.Empty(t, a.send("3"))
	b.stop()
	b = start(t, conf)
	assert.Equal(t, []string{"4"}, b.send("3", "4"), "started again")

	_, err := build(t, conf, true)
	require.NoError(t, err)
	other, err := build(t, strings.Replace(conf, "capacity: 1000", "capacity: 1001", 1), true)
	require.NoError(t, err)
	err = other.open()
	assert.ErrorContains(t, err, "key")
	assert.ErrorContains(t, err, "ids")

	drop := start(t, strings.Replace(conf, "drop_on_err: false", "drop_on_err: true", 1))
	assert.Equal(t, []string{"5"}, drop.send("5"))
	kill()
	assert.Equal(t, []string{"6"}, a.send("6"), "drop_on_err: false")
	assert.Empty(t, drop.send("7"), "drop_on_err: true")
}

// A cache that does not open leaves no connection to the server behind.
func TestFailedOpenDisconnects(t *testing.T) {
	ctx := context.Background()
	url, _ := startRedis(t)
	client := redis.NewClient(bloom.Must(redis.ParseURL(url)))
	defer client.Close()
	require.NoError(t, client.Set(ctx, "ids", "other", 0).Err())
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would close the connection
	parsed, err := redisSpec().ParseYAML("{url: '"+url+"', key: ids, capacity: 10, span: 1h}", nil)
	require.NoError(t, err)
	_, err = newRedisCache(parsed, service.MockResources())
	require.ErrorIs(t, err, bloom.ErrFormat)
	soon(t, func() bool { return strings.Count(client.ClientList(ctx).Val(), "\n") == 1 })
}

// Where Redis comes back without the ids, no message is lost that comes from then on, also
// where dedupe drops messages on errors. The log says once what happened.
func TestRedisComesBackEmpty(t *testing.T) {
	url, kill := startRedis(t)
	log := filepath.Join(t.TempDir(), "log")
	conf := strings.Replace(dedupe, "drop_on_err: false", "drop_on_err: true", 1)
	conf = strings.Replace(conf, "level: OFF", "level: WARN\n  file: {path: "+log+"}", 1)
	s := start(t, conf+"bloom_redis: {url: '"+url+"', key: ids, capacity: 1000, span: 1h}")
	ids := func(first, limit int) (ids []string) {
		for i := first; i < limit; i++ {
			ids = append(ids, fmt.Sprint(i))
		}
		return ids
	}
	require.Equal(t, ids(0, 100), s.send(ids(0, 100)...))
	client := redis.NewClient(bloom.Must(redis.ParseURL(url)))
	defer client.Close()
	for i, lose := range []func(){
		func() { kill(); kill = restartRedis(t, url) },
		func() { require.NoError(t, client.FlushAll(context.Background()).Err()) },
	} {
		lose()
		require.Equal(t, ids(0, 200), s.send(ids(0, 200)...), "%d: new again", i)
		require.Empty(t, s.send(ids(0, 200)...))
		said, err := os.ReadFile(log)
		require.NoError(t, err)
		require.Equal(t, i+1, strings.Count(string(said), "Redis has forgotten all ids"), "%s", said)
	}
}

// A look-up does not fail either where Redis has lost the ids.
func TestGetAfterALoss(t *testing.T) {
	ctx := context.Background()
	url, _ := startRedis(t)
	client := redis.NewClient(bloom.Must(redis.ParseURL(url)))
	defer client.Close()
	parsed, err := redisSpec().ParseYAML("{url: '"+url+"', key: ids, capacity: 10, span: 1h}", nil)
	require.NoError(t, err)
	c, err := newRedisCache(parsed, service.MockResources())
	require.NoError(t, err)
	defer c.Close(ctx)
	require.NoError(t, c.Add(ctx, "1", nil, nil))
	require.NoError(t, client.FlushAll(ctx).Err())
	_, err = c.Get(ctx, "1")
	require.ErrorIs(t, err, service.ErrKeyNotFound)
}

func TestRedisEngineSuite(t *testing.T) {
	url, _ := startRedis(t)
	t.Run("suite", func(t *testing.T) {
		integration.CacheTests(integration.CacheTestMissingKey()).Run(t, `
cache_resources:
  - label: testcache
    bloom_redis:
      url: `+url+`
      key: ids
      capacity: 1000
      span: 1h
`)
	})
}
