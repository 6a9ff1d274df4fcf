package config

import (
	"reflect"
	"strings"
	"testing"
)

// FuzzConfig: no text makes the parser panic; every error is of whole lines that name the file; and what
// is accepted survives being shown.
func FuzzConfig(f *testing.F) {
	f.Add(Example())
	f.Add("[[principal]]\nname = \"a\"\nuid = 1\nclient_ids = [\"*\"]\n")
	f.Add("principal = [{name = \"anonymous\"}]\nlimits = { depth_max = 9 }")
	f.Add("a.b.'c' = '''\n'''\n[x]\n[[y.z]]\nq = 1979-05-27T07:32:00Z")
	f.Add("listen = [\"tcp://[::1]:0\", \"unix:///a\"]\ncoalesce = \"0.5ms\"")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Parse("F", text)
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(line, "F:") && !strings.HasPrefix(line, "F: ") {
					t.Errorf("error without a place: %q", line)
				}
			}
			return
		}
		again, err := Parse("F", l.Show())
		if err != nil {
			t.Fatalf("%v in\n%s", err, l.Show())
		}
		clean(&again.Config)
		clean(&l.Config)
		if !reflect.DeepEqual(again.Config, l.Config) {
			t.Errorf("got %+v\nwant %+v", again.Config, l.Config)
		}
	})
}

// clean makes empty lists nil, which Show does not tell apart.
func clean(c *Config) {
	for i := range c.Principals {
		p := &c.Principals[i]
		for _, list := range []*[]string{&p.ClientIDs, &p.Register, &p.Discover, &p.Notify, &p.Request} {
			if len(*list) == 0 {
				*list = nil
			}
		}
	}
}
