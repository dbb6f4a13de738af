// Bloom-connect is Benthos, the engine of Redpanda Connect, with its pure and io components
// and the caches of package bloombenthos.
package main

import (
	"context"
	"runtime/debug"

	_ "github.com/redpanda-data/benthos/v4/public/components/io"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure"
	"github.com/redpanda-data/benthos/v4/public/service"

	"github.com/seed79a3ff49/bloom/contrib/bloombenthos"
)

func main() {
	version := service.CLIOptSetVersion(moduleVersion(), "")
	service.RunCLI(context.Background(), version, bloombenthos.OpenCaches)
}

func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}
