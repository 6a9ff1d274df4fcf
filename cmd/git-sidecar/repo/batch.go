package repo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	jobsMax      = 64               // jobs asked of git in one go
	roundTimeout = 60 * time.Second // after which a git that says nothing is killed
	jobTries     = 2                // a job that kills git twice fails; the first death can be anybody's
)

// ErrClosed is returned by every call after Close.
var ErrClosed = errors.New("the repository is closed")

// batch keeps `git cat-file` open and shares it between callers. One goroutine owns the process, so that what
// is written and what is read never get out of step: a caller whose context ends stops waiting, and its
// answer, which git gives anyway, is read and thrown away. Objects read here are at most StreamedBytesMin
// long, which bounds that waste.
//
// With git 2.36 or later one process (`--batch-command --buffer`) serves all jobs that wait with one write and
// one flush. An older git gets two processes (`--batch-check`, `--batch`), one object at a time.
type batch struct {
	git      *git
	buffered bool
	jobs     chan *job
	quit     chan struct{}
	done     chan struct{}
	once     sync.Once

	mu     sync.Mutex // guards procs against the watchdog
	procs  [2]*process
	starts int // processes started so far
}

// job is one caller's question. Until ended has its answer, found belongs to the batch goroutine.
type job struct {
	ctx   context.Context
	verb  verb
	parts []Part
	found []Object
	tries int
	ended chan error
}

func newBatch(g *git, buffered bool) *batch {
	b := &batch{git: g, buffered: buffered, jobs: make(chan *job, jobsMax), quit: make(chan struct{}), done: make(chan struct{})}
	go b.run()
	return b
}

// close ends the goroutine and its processes.
func (b *batch) close() {
	b.once.Do(func() {
		close(b.quit)
		b.kill()
	})
	<-b.done
}

// ask returns one Object per part, in order; verbInfo looks at nothing but its OID.
func (b *batch) ask(ctx context.Context, v verb, parts []Part) ([]Object, error) {
	if len(parts) == 0 {
		return nil, nil
	}
	j := &job{ctx: ctx, verb: v, parts: parts, ended: make(chan error, 1)}
	select {
	case b.jobs <- j:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-b.done:
		return nil, ErrClosed
	}
	select {
	case err := <-j.ended:
		return j.found, err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-b.done:
		return nil, ErrClosed
	}
}

// run serves jobs until close.
func (b *batch) run() {
	defer close(b.done)
	defer b.stop()
	for {
		select {
		case <-b.quit:
			return
		case j := <-b.jobs:
			jobs := []*job{j}
			for len(jobs) < jobsMax && len(b.jobs) > 0 {
				jobs = append(jobs, <-b.jobs)
			}
			b.serve(jobs)
		}
	}
}

// serve answers jobs, starting git again when it dies under them.
func (b *batch) serve(jobs []*job) {
	live := jobs[:0]
	for _, j := range jobs {
		if err := j.ctx.Err(); err != nil {
			j.ended <- err
			continue
		}
		live = append(live, j)
	}
	for len(live) > 0 {
		answered, err := b.round(live)
		live = live[answered:]
		if err == nil {
			continue
		}
		if complaint := b.stop(); complaint != "" {
			err = fmt.Errorf("%w%s", err, complaint)
		}
		if b.closed() {
			return
		}
		if live[0].tries++; live[0].tries == jobTries {
			live[0].ended <- err
			live = live[1:]
		}
	}
}

// round asks git everything that the jobs want and reads the answers. It returns how many jobs, from the
// first, it has answered, and why it stopped if that is not all of them.
func (b *batch) round(jobs []*job) (int, error) {
	watchdog := time.AfterFunc(roundTimeout, b.kill)
	defer watchdog.Stop()
	if b.buffered {
		p, err := b.process(verbInfo)
		if err != nil {
			return 0, err
		}
		if err := p.write(jobs); err != nil {
			return 0, err
		}
	}
	for i, j := range jobs {
		j.found = make([]Object, 0, len(j.parts))
		for _, part := range j.parts {
			object, err := b.step(j.verb, part)
			if err != nil {
				return i, err
			}
			j.found = append(j.found, object)
		}
		j.ended <- nil
	}
	return len(jobs), nil
}

// step reads the next answer; an unbuffered git is asked for it first.
func (b *batch) step(v verb, part Part) (Object, error) {
	p, err := b.process(v)
	if err != nil {
		return Object{}, err
	}
	if !b.buffered {
		if _, err := p.in.Write([]byte(part.Object.OID + "\n")); err != nil {
			return Object{}, fmt.Errorf("write to git cat-file: %w", err)
		}
	}
	return p.read(v, part)
}

// write sends the jobs' commands. git --buffer keeps them until "flush" and prints nothing before, so the two
// pipes cannot block each other.
func (p *process) write(jobs []*job) error {
	var text []byte
	for _, j := range jobs {
		for _, part := range j.parts {
			text = fmt.Appendf(text, "%s %s\n", j.verb, part.Object.OID)
		}
	}
	if _, err := p.in.Write(append(text, "flush\n"...)); err != nil {
		return fmt.Errorf("write to git cat-file: %w", err)
	}
	return nil
}

// process returns the process for v, starting it if need be.
func (b *batch) process(v verb) (*process, error) {
	mode, slot := []string{"--batch-command", "--buffer"}, 0
	if !b.buffered {
		mode, slot = [][]string{{"--batch-check"}, {"--batch"}}[v], int(v)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed() {
		return nil, ErrClosed
	}
	if b.procs[slot] == nil {
		p, err := startProcess(b.git, mode...)
		if err != nil {
			return nil, err
		}
		b.procs[slot] = p
		b.starts++
	}
	return b.procs[slot], nil
}

// kill makes whatever the goroutine waits for fail; the goroutine itself cleans up.
func (b *batch) kill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.procs {
		if p != nil {
			p.cmd.Process.Kill()
		}
	}
}

// stop ends the processes and returns their last complaint.
func (b *batch) stop() string {
	b.mu.Lock()
	procs := b.procs
	b.procs = [2]*process{}
	b.mu.Unlock()
	complaint := ""
	for _, p := range procs {
		if p != nil {
			complaint += p.stop()
		}
	}
	return complaint
}

func (b *batch) closed() bool {
	select {
	case <-b.quit:
		return true
	default:
		return false
	}
}
