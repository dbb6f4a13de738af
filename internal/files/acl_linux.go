package files

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// If a file has an access-control list, the group's permissions in its mode are the list's mask,
// which limits what named users and all groups get. The group's own permissions are in the list. A
// copy of the mode alone would give the group all that the mask permits.
//
// The list is an extended attribute: a version of 4 bytes, and then entries of 8 bytes,
// little-endian.
//
//	2 bytes  tag
//	2 bytes  permissions, 0 to 7
//	4 bytes  the user or group of tagUser and tagGroup
const (
	accessList  = "system.posix_acl_access"
	listVersion = 2

	tagUser     = 0x02 // a named user
	tagOwnGroup = 0x04 // the file's group
	tagGroup    = 0x08 // a named group
	tagOthers   = 0x20
)

// keepList gives file the access-control list of the file at path, or takes away the list that file
// got from its directory. perm are the permissions in the mode of the file at path. ownGroup is
// false if file has another group, which then gets no more than others have. keepList returns the
// permissions that file must get: if it cannot have the list, nobody gets more by that.
func keepList(file *os.File, path string, perm fs.FileMode, ownGroup bool) (fs.FileMode, error) {
	list, err := listOf(path)
	if err != nil {
		return 0, err
	}
	if list == nil {
		if err := unix.Fremovexattr(int(file.Fd()), accessList); err != nil && !hasNone(err) {
			perm &^= 0o070 // the mask of the directory's list
		}
		return lessGroup(perm, ownGroup), nil
	}
	if !ownGroup {
		list.limit(tagOwnGroup, list.permissions(tagOthers))
	}
	if unix.Fsetxattr(int(file.Fd()), accessList, list, 0) == nil {
		return perm, nil
	}
	return lessGroup(list.without(perm), ownGroup), nil
}

func hasNone(err error) bool {
	return errors.Is(err, unix.ENODATA) || errors.Is(err, unix.EOPNOTSUPP)
}

// list is the value of the attribute.
type list []byte

// listOf returns the list of the file at path, or nil if it has none.
func listOf(path string) (list, error) {
	data := make([]byte, 64<<10) // the largest value of an attribute
	n, err := unix.Getxattr(path, accessList, data)
	switch {
	case err != nil && hasNone(err):
		return nil, nil
	case err != nil:
		return nil, &fs.PathError{Op: "getxattr " + accessList, Path: path, Err: err}
	case n < 4 || n%8 != 4 || binary.LittleEndian.Uint32(data) != listVersion:
		return nil, &fs.PathError{Op: "getxattr " + accessList, Path: path,
			Err: fmt.Errorf("%d bytes are no list", n)}
	}
	return data[:n], nil
}

// forEach calls visit with the tag and the permissions of each entry, and sets the permissions to
// what visit returns.
func (l list) forEach(visit func(tag, perm uint16) uint16) {
	for i := 4; i < len(l); i += 8 {
		tag := binary.LittleEndian.Uint16(l[i:])
		perm := binary.LittleEndian.Uint16(l[i+2:])
		binary.LittleEndian.PutUint16(l[i+2:], visit(tag, perm))
	}
}

// permissions returns the permissions that all entries with this tag have; 7 if there is none.
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

// limit removes the permissions outside mask from the entries with this tag.
func (l list) limit(tag, mask uint16) {
	l.forEach(func(t, perm uint16) uint16 {
		if t == tag {
			return perm & mask
		}
		return perm
	})
}

// without returns the permissions of a file that has perm in its mode and loses its list. A named
// user may be in the file's group, and is then, as members of named groups are, one of the others.
func (l list) without(perm fs.FileMode) fs.FileMode {
	users, groups := l.permissions(tagUser), l.permissions(tagGroup)
	group := users & l.permissions(tagOwnGroup)
	others := users & groups
	return perm & (0o700 | fs.FileMode(group)<<3 | fs.FileMode(others))
}
