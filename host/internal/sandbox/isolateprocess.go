package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wagent-dev/wagent/host/internal/confine"
	"github.com/wagent-dev/wagent/host/internal/sandbox/linear"
	"github.com/wagent-dev/wagent/host/policy"
)

// guestProcess is a process that runs the guests of one module. Its methods may be
// called by several goroutines. It must be ended.
type guestProcess struct {
	cmd  *exec.Cmd
	out  *sender
	in   *os.File // its standard output
	hold *os.File // its standard input
	most int64    // bytes of a message
	said head

	ended chan struct{}  // it has ended and was waited for
	own   sync.WaitGroup // goroutines

	mu    sync.Mutex
	last  uint64
	calls map[uint64]*awayCall
	why   error // that it was ended
}

// awayCall is a call that a process makes.
type awayCall struct {
	id   uint64
	in   chan *message
	done chan struct{} // nobody listens any more
}

// killAfter is how long a call may go on after it was told to end. In that time its
// guest is stopped, or it is not in the hands of the sandbox any more.
const killAfter = slowness * 500 * time.Millisecond

// begin starts a process and has it load the module. It blocks until that is done.
func (w *workers) begin(ctx context.Context, i *isolated) (*guestProcess, error) {
	if w.lost != nil {
		return nil, refuse(LoadUnsupported, "the module wants a process of its own, and none can be started: "+w.lost.Error(), "have the program started where /proc is mounted")
	}
	linear.Prepare()
	confine.Shield()
	p, err := w.start(i)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { p.kill(ctx.Err()) })
	defer stop()
	r, err := p.greet(i)
	if err == nil {
		err = r.problem(i.order.Weak)
	}
	if err != nil {
		p.kill(err)
		p.end()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	if r.Open != "" {
		i.engine.log.Warn("a module runs in a process that is not shut off from the system", "module", i.order.Name, "why", oneLine(r.Open, maxMessage))
	}
	return p, nil
}

// problem says why the process is not used.
func (r *readiness) problem(weak bool) error {
	switch {
	case r.Open != "" && !weak:
		return refuse(LoadUnsupported, "the module wants a process of its own that is shut off from the system, which cannot be had here: "+oneLine(r.Open, maxMessage),
			"allow weak isolation to run it in a process that is not, or take isolation: inprocess")
	case r.Refused != "":
		return fmt.Errorf("the process that runs the module could not load it: %s", oneLine(r.Refused, maxMessage))
	}
	return nil
}

// start starts the process.
func (w *workers) start(i *isolated) (*guestProcess, error) {
	theirIn, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	in, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, theirIn.Close(), hold.Close())
	}
	p := &guestProcess{
		out: &sender{w: hold}, in: in, hold: hold, most: i.mostMessage(),
		ended: make(chan struct{}), calls: make(map[uint64]*awayCall),
	}
	p.cmd = exec.Command(w.path)
	p.cmd.Args, p.cmd.Env, p.cmd.Dir = w.guests, []string{}, i.folder()
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirIn, theirOut, &p.said
	p.cmd.WaitDelay = time.Second // see workers.run
	detach(p.cmd)
	begun := make(chan error)
	go p.run(begun)
	err = errors.Join(<-begun, theirIn.Close(), theirOut.Close())
	if err != nil {
		p.kill(err)
		<-p.ended
		return nil, err
	}
	return p, nil
}

// folder is where a process is started, which it may read: where the code is kept,
// or what it is left of anyway. The cache may have been swept.
func (i *isolated) folder() string {
	const own = "/proc/self" // of the process that is started
	for _, dir := range []string{i.dir, own} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
	}
	return os.TempDir() // here are no walls
}

// untouched says that the kept code is what was compared with its digests when the
// module was loaded. To compare it again takes as long as to load it.
func (i *isolated) untouched() bool {
	e := cacheEntry{dir: i.dir}
	files, err := e.files()
	return err == nil && slices.EqualFunc(files, i.verified, cacheFile.same)
}

// run starts the process and waits until it has ended. A process that is to end
// with its parent ends with the thread that started it.
func (p *guestProcess) run(begun chan<- error) {
	defer close(p.ended)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	begun <- err
	if err != nil {
		return
	}
	_ = p.cmd.Wait() // what it says is in the state
	p.fail(errAway)
}

// mostMessage is how large a message of the process may be: an answer, what a
// guest reads, writes or sends, or a trace.
func (i *isolated) mostMessage() int64 {
	l := i.order.Policy.Limits
	return 2*l.Output + 2*maxHTTPRequest + 2*l.KV + 8*policy.MiB
}

// greet hands over the module and waits for the process to say what it is.
func (p *guestProcess) greet(i *isolated) (*readiness, error) {
	lines := bufio.NewReaderSize(p.in, 64<<10)
	hello := make([]byte, len(workerGreeting)+1)
	if _, err := io.ReadFull(lines, hello); err != nil || strings.TrimSuffix(string(hello), "\n") != workerGreeting {
		return nil, fmt.Errorf("the process that runs guests did not begin (%s): host.Worker has to be called first in main, whatever the arguments and the environment are", p.how())
	}
	order := i.order
	order.Cached = order.Cached && i.untouched()
	if err := p.out.send(&message{Kind: kindLoad, Load: &order, body: i.image}); err != nil {
		return nil, fmt.Errorf("handing over the module: %w", err)
	}
	m, err := hear(lines, p.most)
	if err != nil || m.Ready == nil {
		return nil, fmt.Errorf("the process that runs guests ended while it loaded the module (%s)", p.how())
	}
	p.own.Go(func() { p.listen(lines) })
	return m.Ready, nil
}

// listen hands on what the process says until it has ended.
func (p *guestProcess) listen(r io.Reader) {
	for {
		m, err := hear(r, p.most)
		if err != nil {
			p.kill(err)
			return
		}
		p.mu.Lock()
		c := p.calls[m.Call]
		p.mu.Unlock()
		if c == nil { // a call has nothing to say when it has ended
			p.kill(errMeddled)
			return
		}
		select {
		case c.in <- m:
		case <-c.done:
		}
	}
}

// alive says that the process takes calls.
func (p *guestProcess) alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why == nil
}

// fail remembers why the process is of no more use.
func (p *guestProcess) fail(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why == nil {
		p.why = why
	}
}

func (p *guestProcess) reason() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why
}

// kill ends the process and all of its group at once, and what is read from it or
// written to it.
func (p *guestProcess) kill(why error) {
	p.fail(why)
	select {
	case <-p.ended: // its number may be that of another one
	default:
		if p.cmd.Process != nil {
			_ = kill(p.cmd) // it has ended already
		}
	}
	_, _ = p.hold.Close(), p.in.Close() // they are closed already
}

// end ends the process, and waits for it and for all that goes on with it.
func (p *guestProcess) end() {
	p.kill(errAway)
	<-p.ended
	p.own.Wait()
}

// tell sends what has no answer, without blocking.
func (p *guestProcess) tell(m *message) {
	p.beside(func() {
		_ = p.out.send(m) // the process has ended
	})
}

// beside does something in a goroutine of the process, while that is of use.
func (p *guestProcess) beside(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why == nil {
		p.own.Go(do)
	}
}

// how says how the process ended, if it has.
func (p *guestProcess) how() string {
	select {
	case <-p.ended:
	case <-time.After(time.Second): // it is about to
		return "it has not ended"
	}
	if p.cmd.ProcessState == nil {
		return "it was not started"
	}
	return (&ending{state: p.cmd.ProcessState, said: p.said.String()}).how()
}

func (p *guestProcess) outOfMemory() bool {
	select {
	case <-p.ended:
		return p.cmd.ProcessState != nil && p.cmd.ProcessState.ExitCode() == exitMemory || outOfMemory(p.said.String())
	case <-time.After(time.Second):
		return false
	}
}

// call makes a call and serves its doors until it has ended.
func (p *guestProcess) call(g *guest, o *callOrder, input []byte) (*callEnd, []byte, error) {
	c := &awayCall{in: make(chan *message), done: make(chan struct{})}
	p.mu.Lock()
	p.last++
	c.id = p.last
	p.calls[c.id] = c
	p.mu.Unlock()
	over := false
	defer func() {
		if !over { // nobody listens to the guest any more, such as after a panic
			p.kill(errors.New("a call of the tool was given up"))
		}
		close(c.done)
		p.mu.Lock()
		delete(p.calls, c.id)
		p.mu.Unlock()
	}()
	defer p.bound(g, c)()
	if p.out.send(&message{Kind: kindCall, Call: c.id, Begin: o, body: input}) != nil {
		return nil, nil, p.died()
	}
	s := &doorman{g: g, files: make(map[uint32]file)}
	for {
		select {
		case m := <-c.in:
			if m.Kind == kindDone && m.Done != nil {
				over = true
				return m.Done, m.body, nil
			}
			if err := s.serve(p, m); err != nil {
				p.kill(err)
				return nil, nil, p.died()
			}
		case <-p.ended:
			return nil, nil, p.died()
		}
	}
}

// bound tells the process when the call has to end, and ends the process if it does
// not come to it. It returns what has to be called when the call has ended.
// Where the process ends first, so does the call, and with it what a door does.
func (p *guestProcess) bound(g *guest, c *awayCall) func() {
	over := make(chan struct{})
	p.beside(func() {
		select {
		case <-over:
			return
		case <-p.ended:
			g.watch.stop(p.died())
			return
		case <-g.ctx.Done():
		}
		p.tell(&message{Kind: kindCancel, Call: c.id})
		late := time.NewTimer(killAfter)
		defer late.Stop()
		select {
		case <-over:
		case <-late.C:
			p.kill(errors.New("a call of the tool did not end when it had to"))
		}
	})
	return func() { close(over) }
}
