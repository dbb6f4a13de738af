module github.com/seed79a3ff49/bloom/contrib/bloomredis/examples/guard

go 1.24

require (
	github.com/redis/go-redis/v9 v9.22.0
	github.com/seed79a3ff49/bloom v1.0.0
	github.com/seed79a3ff49/bloom/contrib/bloomredis v0.1.0
	github.com/stretchr/testify v1.11.1
	go.etcd.io/bbolt v1.4.3
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	github.com/spaolacci/murmur3 v1.1.0 // indirect
	go.uber.org/atomic v1.11.0 // indirect
	golang.org/x/sync v0.13.0 // indirect
	golang.org/x/sys v0.35.0 // indirect
	gopkg.in/check.v1 v1.0.0-20201130134442-10cb98267c6c // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace (
	github.com/seed79a3ff49/bloom => ../../../../
	github.com/seed79a3ff49/bloom/contrib/bloomredis => ../../
)
