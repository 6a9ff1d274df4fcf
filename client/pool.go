package client

import "sync"

const (
	waitingMax      = 8192     // requests that may wait for a free handler
	waitingBytesMax = 64 << 20 // and their size
)

// pool runs tasks on at most max goroutines, which exist only while there are tasks. Requests are
// admitted before they become tasks, so that what waits is bounded.
type pool struct {
	max int
	wg  *sync.WaitGroup

	mu      sync.Mutex
	tasks   []func()
	head    int // tasks[:head] have been taken
	workers int
	count   int // requests admitted and not finished
	bytes   int
	closed  bool
	idle    chan struct{} // closed when closed and count is 0
}

func (p *pool) init(max int, wg *sync.WaitGroup) { p.max, p.wg, p.idle = max, wg, make(chan struct{}) }

// admit reserves room for a request of n bytes; done gives it back.
func (p *pool) admit(n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.count >= waitingMax+p.max || p.bytes+n > waitingBytesMax && p.count > 0 {
		return false
	}
	p.count++
	p.bytes += n
	return true
}

func (p *pool) done(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count--
	p.bytes -= n
	if p.closed && p.count == 0 {
		close(p.idle)
	}
}

// close refuses further requests and returns a channel that is closed when those admitted have finished.
func (p *pool) close() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed = true
		if p.count == 0 {
			close(p.idle)
		}
	}
	return p.idle
}

// run makes a worker execute task.
func (p *pool) run(task func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tasks = append(p.tasks, task)
	if p.workers < p.max {
		p.workers++
		p.wg.Add(1)
		go p.work()
	}
}

func (p *pool) work() {
	defer p.wg.Done()
	for {
		task := p.next()
		if task == nil {
			return
		}
		task()
	}
}

// next takes the oldest task; nil ends the worker.
func (p *pool) next() func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.head == len(p.tasks) {
		p.tasks, p.head = p.tasks[:0], 0
		if cap(p.tasks) > 1024 {
			p.tasks = nil
		}
		p.workers--
		return nil
	}
	task := p.tasks[p.head]
	p.tasks[p.head] = nil
	p.head++
	if p.head > 1024 && p.head > len(p.tasks)/2 {
		p.tasks = append(p.tasks[:0], p.tasks[p.head:]...)
		p.head = 0
	}
	return task
}
