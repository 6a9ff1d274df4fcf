package repo

import (
	"testing"

	"github.com/ahprelay/ahprelay/cmd/git-sidecar/fixture"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens a fixture for the length of the test.
func open(t *testing.T, f *fixture.Repository) *Repo {
	t.Helper()
	r, err := Open(t.Context(), "work", f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func blob(f *fixture.Repository, data string) OID { return OID(f.Blob(data)) }

func commit(f *fixture.Repository, message string) OID { return OID(f.Commit(message)) }
