package files

import "io/fs"

func WithoutList(l []byte, perm fs.FileMode) fs.FileMode { return list(l).without(perm) }
