package loop

import (
	"net"
	"os"
)

// ListenUnix binds a Unix socket that has the given mode from the first moment. A socket that nobody
// listens on any more is replaced; anything else at the path is left alone and is an error.
func ListenUnix(path string, mode os.FileMode) (net.Listener, error) { return listenUnix(path, mode) }
