package admin

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// token is what a request to a TCP admin server must bear.
type token struct {
	sum  [sha256.Size]byte
	file string // where it was written, "" when it was configured or could not be written
	err  error  // why it could not be written: then nothing is admitted
}

// newToken takes the configured digest, or makes a token and writes it to a file that is this user's
// alone.
func newToken(configured, addr string, getenv func(string) string) *token {
	t := &token{}
	if configured != "" {
		_, t.err = hex.Decode(t.sum[:], []byte(configured))
		return t
	}
	text := rand.Text()
	t.sum = sha256.Sum256([]byte(text))
	dir := tokenDir(getenv)
	path := filepath.Join(dir, tokenName(addr))
	if t.err = writeToken(dir, path, text); t.err == nil {
		t.file = path
	}
	return t
}

// admits reports whether text is the token.
func (t *token) admits(text string) bool {
	sum := sha256.Sum256([]byte(text))
	return t.err == nil && subtle.ConstantTimeCompare(sum[:], t.sum[:]) == 1
}

func (t *token) remove() {
	if t.file != "" {
		_ = os.Remove(t.file)
	}
}

// TokenFile is where the relay of the same user with that admin address (host:port) writes the token that
// it makes.
func TokenFile(addr string, getenv func(string) string) string {
	return filepath.Join(tokenDir(getenv), tokenName(addr))
}

// tokenDir is a directory that lives as long as the session or the service does.
func tokenDir(getenv func(string) string) string {
	if dir, _, _ := strings.Cut(getenv("RUNTIME_DIRECTORY"), ":"); filepath.IsAbs(dir) {
		return dir // systemd made it for this service
	}
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return filepath.Join(dir, "ahprelay")
		}
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("ahprelay-%d", os.Getuid()))
}

func tokenName(addr string) string {
	return "admin-" + strings.NewReplacer(":", "_", "[", "", "]", "", "/", "_", "%", "_").Replace(addr) + ".token"
}

// writeToken writes text to path, whole or not at all, readable by this user only from the first moment.
func writeToken(dir, path, text string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making the directory of the admin token: %w", err)
	}
	if err := checkOwn(dir); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".token-") // 0600
	if err != nil {
		return fmt.Errorf("writing the admin token: %w", err)
	}
	_, err = f.WriteString(text + "\n")
	if err := errors.Join(err, f.Close(), os.Rename(f.Name(), path)); err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("writing the admin token: %w", err)
	}
	return nil
}

// checkOwn refuses a directory in which another user could swap files: what lies in a shared /tmp may
// have been put there by anybody.
func checkOwn(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("looking at the directory of the admin token: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(stat.Uid) != os.Getuid() && stat.Uid != 0 || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s is no directory that only this user can change", dir)
	}
	return nil
}

// ReadToken reads a token file. A guessed file is trusted only in a directory of this user's own.
func ReadToken(path string, guessed bool) (string, error) {
	if guessed {
		if err := checkOwn(filepath.Dir(path)); err != nil {
			return "", err
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if text := strings.TrimSpace(string(text)); text != "" {
		return text, nil
	}
	return "", fmt.Errorf("%s is empty", path)
}
