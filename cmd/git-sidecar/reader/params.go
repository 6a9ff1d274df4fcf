package reader

import (
	"fmt"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/cmd/git-sidecar/repo"
	"github.com/ahprelay/ahprelay/codec"
)

// textBytesMax bounds a string in params, in bytes of decoded text.
const textBytesMax = 4096

// members splits the object params into the named raw members, which alias it. Others are ignored.
func members(params []byte, where string, into map[string]*[]byte) *client.Error {
	if codec.KindOf(params) != codec.Object {
		return invalid(where, "must be an object")
	}
	it := codec.ObjectMembers(params)
	for name, value, ok := it.Next(); ok; name, value, ok = it.Next() {
		text, _ := codec.Unquote(nil, name)
		slot := into[string(text)]
		if slot == nil {
			continue
		}
		if *slot != nil {
			return invalid(join(where, string(text)), "is there twice")
		}
		*slot = value
	}
	return nil
}

// join returns the path of a member; "params" itself is not part of it.
func join(where, name string) string {
	if where == "params" {
		return name
	}
	return where + "." + name
}

// text decodes a string.
func text(value []byte, member string) (string, *client.Error) {
	if codec.KindOf(value) != codec.String {
		return "", invalid(member, "must be a string")
	}
	if codec.DecodedLen(value) > textBytesMax {
		return "", invalid(member, fmt.Sprintf("is longer than %d bytes", textBytesMax))
	}
	out, ok := codec.Unquote(nil, value)
	if !ok {
		return "", invalid(member, "must be a string of Unicode text")
	}
	return string(out), nil
}

// count decodes an integer that is not negative; absent is otherwise.
func count(value []byte, member string, otherwise int64) (int64, *client.Error) {
	if value == nil {
		return otherwise, nil
	}
	n, ok := codec.Integer(value)
	if codec.KindOf(value) != codec.Number || !ok || n < 0 {
		return 0, invalid(member, "must be an integer, 0 or more")
	}
	return n, nil
}

// find returns the repository that value names.
func (r *Reader) find(value []byte) (*repo.Repo, *client.Error) {
	name, err := text(value, "repo")
	if err != nil {
		return nil, err
	}
	if why := repo.CheckName(name); why != nil {
		return nil, invalid("repo", "is not a name: "+why.Error())
	}
	found := r.repos[name]
	if found == nil {
		return nil, failure(codeNotFound, "no repository "+name, data{Repo: name, Repos: r.names})
	}
	return found, nil
}
