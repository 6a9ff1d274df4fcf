package repo

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// verb is what is asked about an object.
type verb uint8

const (
	verbInfo     verb = iota // type and size
	verbContents             // type, size and bytes
)

func (v verb) String() string {
	if v == verbInfo {
		return "info"
	}
	return "contents"
}

// process is one running `git cat-file` that answers lines from its standard input in order.
type process struct {
	cmd       *exec.Cmd
	in        io.WriteCloser
	out       *bufio.Reader
	complaint tail
}

// startProcess runs `git cat-file mode…`.
func startProcess(g *git, mode ...string) (*process, error) {
	p := &process{cmd: g.command(append([]string{"cat-file"}, mode...)...)}
	p.cmd.Stderr = &p.complaint
	p.cmd.WaitDelay = time.Second // whatever may still hold the pipes then
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start git cat-file: %w", err)
	}
	p.in, p.out = in, bufio.NewReaderSize(out, 64<<10)
	return p, nil
}

// stop ends the process and returns what it complained about.
func (p *process) stop() string {
	p.cmd.Process.Kill()
	p.in.Close()
	p.cmd.Wait()
	return p.complaint.String()
}

// read reads the answer about part.Object.OID, and keeps of its bytes the part alone. A missing object has an
// empty Type. An error means that the process is of no more use: it died, or answered something else than it
// was asked.
func (p *process) read(v verb, part Part) (Object, error) {
	oid := part.Object.OID
	line, err := p.out.ReadSlice('\n')
	if err != nil {
		return Object{}, fmt.Errorf("read git cat-file: %w", err)
	}
	header := string(line[:len(line)-1])
	rest, ok := strings.CutPrefix(header, string(oid)+" ")
	if !ok {
		return Object{}, fmt.Errorf("git cat-file answered %.100q, asked for %s", header, oid)
	}
	if rest == "missing" {
		return Object{OID: oid}, nil
	}
	kind, digits, _ := strings.Cut(rest, " ")
	size, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || size < 0 {
		return Object{}, fmt.Errorf("git cat-file answered %.100q", header)
	}
	object := Object{OID: oid, Type: kind, Size: size}
	if v == verbInfo {
		return object, nil
	}
	if size > StreamedBytesMin {
		return Object{}, fmt.Errorf("object %s of %d bytes read as a whole", oid, size)
	}
	object.Data = make([]byte, part.Length)
	if err := p.cut(object.Data, part.Offset, size); err != nil {
		return Object{}, fmt.Errorf("read object %s: %w", oid, err)
	}
	return object, nil
}

// cut reads an object of the given size with its final LF, and keeps in data what begins at offset.
func (p *process) cut(data []byte, offset, size int64) error {
	rest := size - offset - int64(len(data))
	if rest < 0 {
		return fmt.Errorf("it has %d bytes, fewer than before", size)
	}
	if _, err := p.out.Discard(int(offset)); err != nil {
		return err
	}
	if _, err := io.ReadFull(p.out, data); err != nil {
		return err
	}
	if _, err := p.out.Discard(int(rest)); err != nil {
		return err
	}
	if end, err := p.out.ReadByte(); err != nil || end != '\n' {
		return errors.Join(errors.New("it does not end where it should"), err)
	}
	return nil
}
