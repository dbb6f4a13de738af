// Package bloombenthos provides caches for the dedupe processor of Redpanda Connect and of every
// other program built on Benthos. The caches keep ids in Bloom filters. At a rate of 1e-9, an id
// usually needs 64 to 73 bits if ids are forgotten after a span, and about 80 bits otherwise. A
// cache that keeps the ids themselves needs hundreds of bytes for each.
//
//	service.RunCLI(ctx, bloombenthos.OpenCaches) // and import the components that a pipeline uses
//
// Importing the package registers two caches. The bloom cache is a filter in memory: with a span, a
// window.Filter, which forgets ids after the span, and otherwise a growing.Filter. With a path, the
// filter survives restarts. The bloom_redis cache is a bloomredis.Window, which several instances
// share. The engine opens a cache when a message first needs it. With [OpenCaches] in
// service.RunCLI, as in cmd/bloom-connect, a program opens its caches first, and does not start if
// a file is damaged.
//
// A cache answers as a Bloom filter does. An id that was added is found until it is forgotten. Any
// other id is reported as present with a probability of at most fpr, and dedupe then drops its
// message: one in a billion at the default of 1e-9. The README's "Operations" lists what each call
// answers.
//
// Deduplication with any cache weakens delivery guarantees. An id is added before its message
// leaves the pipeline. If a message fails downstream and is delivered again, it is dropped. Wrap
// outputs that may fail in a retry, or add the id after the output has acknowledged the message, as
// acknowledged.yaml in this directory does.
package bloombenthos
