package files

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// If a file has an access-control list, the group permissions in its mode are the list's mask: the
// upper limit for named users and for all groups. The permissions of the file's own group are in
// the list. So a copy of the mode alone would give that group everything that the mask permits.
//
// The list is an extended attribute: a 4-byte version, followed by 8-byte entries. All numbers are
// little-endian.
//
//	2 bytes  tag
//	2 bytes  permissions, 0 to 7
//	4 bytes  the user or group, if the tag is tagUser or tagGroup
const (
	accessList  = "system.posix_acl_access"
	listVersion = 2

	tagUser     = 0x02 // a named user
	tagOwnGroup = 0x04 // the file's group
	tagGroup    = 0x08 // a named group
	tagOthers   = 0x20
)

// keepList gives file the access-control list of the old file, or no list if the old file has none.
// It returns the permissions to set for file, a subset of perm. perm has the permissions in the old
// file's mode. ownGroup reports whether file has the old file's group.
func keepList(file *os.File, list list, perm fs.FileMode, ownGroup bool) fs.FileMode {
	if list == nil {
		if err := unix.Fremovexattr(int(file.Fd()), accessList); err != nil && !hasNone(err) {
			perm &^= 0o070 // otherwise these bits would become the mask of an inherited list
		}
		return lessGroup(perm, ownGroup)
	}
	if !ownGroup { // as lessGroup does
		both := list.permissions(tagOwnGroup) & list.permissions(tagOthers)
		list.limit(tagOwnGroup, both)
		list.limit(tagOthers, both)
		perm &= 0o770 | fs.FileMode(both)
	}
	if unix.Fsetxattr(int(file.Fd()), accessList, list, 0) == nil {
		return perm
	}
	return lessGroup(list.without(perm), ownGroup)
}

func hasNone(err error) bool {
	return errors.Is(err, unix.ENODATA) || errors.Is(err, unix.EOPNOTSUPP)
}

type list []byte

// listOf returns the list of the file at path, or nil if it has none.
func listOf(path string) (list, error) {
	data := make([]byte, 64<<10) // the largest size of an attribute
	n, err := unix.Getxattr(path, accessList, data)
	switch {
	case hasNone(err):
		return nil, nil
	case err != nil:
		return nil, &fs.PathError{Op: "getxattr " + accessList, Path: path, Err: err}
	case n%8 != 4 || binary.LittleEndian.Uint32(data) != listVersion:
		return nil, &fs.PathError{Op: "getxattr " + accessList, Path: path,
			Err: fmt.Errorf("%d bytes are not a list of permissions", n)}
	}
	return data[:n], nil
}

// forEach calls visit for each entry, and stores the result as the entry's permissions.
func (l list) forEach(visit func(tag, perm uint16) uint16) {
	for i := 4; i < len(l); i += 8 {
		tag := binary.LittleEndian.Uint16(l[i:])
		perm := binary.LittleEndian.Uint16(l[i+2:])
		binary.LittleEndian.PutUint16(l[i+2:], visit(tag, perm))
	}
}

// permissions returns the permissions that all entries with this tag have, or 7 if no entry has it.
func (l list) permissions(tag uint16) uint16 {
	all := uint16(7)
	l.forEach(func(t, perm uint16) uint16 {
		if t == tag {
			all &= perm
		}
		return perm
	})
	return all
}

func (l list) limit(tag, mask uint16) {
	l.forEach(func(t, perm uint16) uint16 {
		if t == tag {
			return perm & mask
		}
		return perm
	})
}

// without returns the part of perm that is safe for a file on which the list cannot be set.
// Without the list, named users and members of named groups count as others, unless they are in the
// file's group.
func (l list) without(perm fs.FileMode) fs.FileMode {
	users, groups := l.permissions(tagUser), l.permissions(tagGroup)
	group := users & l.permissions(tagOwnGroup)
	others := users & groups
	return perm & (0o700 | fs.FileMode(group)<<3 | fs.FileMode(others))
}
