package outbox

import (
	"bytes"
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	seeds = flag.Int("seeds", 1500, "how many histories TestModel runs")
	from  = flag.Int("from", 1, "the first seed")
)

// TestModel runs processes of one session on a disk that crashes between any two operations, against a server that is
// unreachable, refuses, or executes a command and loses the answer. Every kept command must be executed exactly once,
// in order, or be in damaged/.
func TestModel(t *testing.T) {
	var sum counts
	for seed := *from; seed < *from+*seeds; seed++ {
		w := newWorld(uint64(seed))
		if fault := w.run(); fault != "" {
			t.Fatalf("seed %d breaks a promise: %s", seed, fault)
		}
		sum.add(w.counts)
	}
	t.Logf("%+v", sum)
	if *seeds >= 1000 && slices.Contains([]int{
		sum.kept, sum.direct, sum.delivered, sum.again, sum.refused, sum.lost, sum.killed, sum.cuts, sum.damaged,
		sum.full, sum.failed, sum.gaveUp,
		sum.forged, sum.replayed,
	}, 0) {
		t.Error("something never happened, so it was not tested")
	}
}

// counts summarises what happened in the histories.
type counts struct {
	kept, direct, delivered, again, refused, lost, killed, cuts, damaged, full, failed, gaveUp, most,
	forged, replayed int
}

func (c *counts) add(o counts) {
	c.kept, c.direct, c.delivered, c.again = c.kept+o.kept, c.direct+o.direct, c.delivered+o.delivered, c.again+o.again
	c.refused, c.lost, c.killed, c.cuts = c.refused+o.refused, c.lost+o.lost, c.killed+o.killed, c.cuts+o.cuts
	c.damaged, c.full, c.failed, c.gaveUp = c.damaged+o.damaged, c.full+o.full, c.failed+o.failed, c.gaveUp+o.gaveUp
	c.most, c.forged, c.replayed = max(c.most, o.most), c.forged+o.forged, c.replayed+o.replayed
}

// said is a command that the session sends, and what is known about it.
type said struct {
	entry Entry
	// begun and done are the steps at which its process began it and learned that it was kept or answered; done is 0 if
	// it never did. failed means that the process learned that it was not kept.
	begun, done int
	failed      bool
	// tried means that it may have been sent before it was kept.
	tried bool
	// corrupted means that the world changed its file.
	corrupted bool
}

// world is one history.
type world struct {
	rng   *rand.Rand
	step  int
	disk  *simDisk
	procs []*proc
	event chan *proc
	all   map[string]*said
	// decided is the server's log: the keys in the order in which they were first decided.
	decided []string
	effects map[string]int
	// away is the current state of the server; calm ends all faults.
	away, calm bool
	// sending counts the deliveries in progress.
	sending int
	told    map[string]bool
	// planted are the files that another process wrote and that must not be delivered.
	planted map[string]bool
	fault   string
	counts
	limit int
}

func newWorld(seed uint64) *world {
	rng := rand.New(rand.NewPCG(seed, 7))
	w := &world{
		rng:     rng,
		event:   make(chan *proc),
		all:     map[string]*said{},
		effects: map[string]int{},
		told:    map[string]bool{},
		planted: map[string]bool{},
		limit:   maxEntries,
	}
	if rng.IntN(10) == 0 {
		w.limit = 1 + rng.IntN(4)
	}
	w.disk = &simDisk{
		w:       w,
		names:   map[string]*inode{},
		durable: map[string]*inode{},
		locks:   map[string]*proc{},
	}
	return w
}

func (w *world) chance(percent float64) bool { return w.rng.Float64()*100 < percent }

// breaks records the first promise that was broken.
func (w *world) breaks(format string, args ...any) {
	if w.fault == "" {
		w.fault = fmt.Sprintf(format, args...)
	}
}

func (w *world) run() string {
	const most = 200_000
	together, total := 1+w.rng.IntN(3), 4+w.rng.IntN(30)
	for started := 0; w.fault == "" && (started < total || len(w.procs) > 0); {
		if started < total && len(w.procs) < together {
			started++
			w.start(func(p *proc) {
				for range 1 + w.rng.IntN(3) {
					p.command(fmt.Sprintf("command %d of %d", len(w.all), started))
				}
			})
			continue
		}
		w.turn()
		w.happen()
		if w.step > most {
			w.breaks("it never ends")
		}
	}
	w.calm, w.away = true, false
	w.start(func(p *proc) { p.drain() })
	for w.fault == "" && len(w.procs) > 0 {
		w.turn()
		if w.step > 2*most {
			w.breaks("it never ends")
		}
	}
	for _, p := range slices.Clone(w.procs) {
		w.kill(p)
	}
	if w.fault == "" {
		w.judge()
	}
	return w.fault
}

// happen lets the world act between two operations.
func (w *world) happen() {
	if w.chance(3) {
		w.away = !w.away
	}
	if len(w.procs) > 0 && w.chance(0.5) {
		w.killed++
		w.kill(w.procs[w.rng.IntN(len(w.procs))])
	}
	if w.chance(0.3) {
		w.cuts++
		for _, p := range slices.Clone(w.procs) {
			w.kill(p)
		}
		w.disk.cut()
	}
	if w.chance(0.3) {
		w.corrupt()
	}
	if w.chance(0.3) {
		w.plant()
	}
}

// ourSecret is the session's secret in the model.
func ourSecret() string { return "session.2.secret" }

// plant lets somebody who can write to the directory, but does not know the secret, put an entry there: a changed copy
// of one that the session kept, or an old one again. Its name matches its content.
func (w *world) plant() {
	keys := slices.Sorted(maps.Keys(w.all))
	if len(keys) == 0 {
		return
	}
	x := w.all[keys[w.rng.IntN(len(keys))]]
	e, forged := w.mutated(x.entry), true
	if w.effects[e.Key] > 0 && w.chance(20) {
		e, forged = x.entry, false
	}
	content, err := encode(e)
	if err != nil {
		panic(err)
	}
	at := position{uint64(1 + w.rng.IntN(8)), digestOf(content)}
	if forged {
		w.planted[at.file()] = true
		w.forged++
	} else {
		w.replayed++
	}
	file := &inode{content, content}
	w.disk.names[at.file()], w.disk.durable[at.file()] = file, file
}

// mutated changes one thing in an entry with a valid proof.
func (w *world) mutated(e Entry) Entry {
	e.Generation -= w.step % 2 // half of them say that they were kept with a former secret
	switch w.rng.IntN(8) {
	case 0:
		e.Body = json.RawMessage(`{"message":"forged"}`)
	case 1:
		e.Key += "x"
	case 2:
		e.OccurredAt = e.OccurredAt.Add(time.Nanosecond)
	case 3:
		e.Command = "report:complete"
	case 4:
		e.Command = "task:complete"
		e.Proof = e.prove(ourSecret()) // as the session itself could
	case 5:
		e.Proof = e.prove("another session's secret")
	case 6:
		e.Proof = e.prove("")
	case 7:
		digit := w.rng.IntN(len(e.Proof))
		e.Proof = e.Proof[:digit] + string('0'+('9'-e.Proof[digit])%10) + e.Proof[digit+1:]
	}
	return e
}

// corrupt changes the file of an entry without anybody's knowledge.
func (w *world) corrupt() {
	var files []string
	for name := range w.disk.names {
		if _, ok := parsePosition(name); ok {
			files = append(files, name)
		}
	}
	if len(files) == 0 {
		return
	}
	slices.Sort(files)
	file := w.disk.names[files[w.rng.IntN(len(files))]]
	x := w.saidIn(file.content)
	if x == nil {
		return
	}
	x.corrupted = true
	content := bytes.Clone(file.content)
	switch w.rng.IntN(3) {
	case 0:
		content = nil
	case 1:
		content = content[:w.rng.IntN(len(content))]
	case 2:
		content = bytes.Replace(content, []byte(`"message":"c`), []byte(`"message":"C`), 1)
	}
	file.content, file.durable = content, content
}

func (w *world) saidIn(content []byte) *said {
	for key, x := range w.all {
		if bytes.Contains(content, []byte(`"`+key+`"`)) {
			return x
		}
	}
	return nil
}

// judge compares the end with the promises.
func (w *world) judge() {
	inDamaged := map[*said]bool{}
	for _, name := range slices.Sorted(maps.Keys(w.disk.names)) {
		if _, ok := parsePosition(name); ok {
			w.breaks("it waits for ever: %s", name)
		}
		if strings.HasPrefix(name, replacedDir+"/") {
			w.breaks("it is called an entry of a former secret, and is forged: %s", name)
		}
		aside, ok := strings.CutPrefix(name, damagedDir+"/")
		if !ok {
			continue
		}
		w.damaged++
		if w.planted[aside] {
			if !w.told[name] && w.killed+w.cuts == 0 {
				w.breaks("nobody was told of damage: %s", name)
			}
			continue
		}
		x := w.saidBy(aside)
		if x == nil || !x.corrupted {
			w.breaks("it is called damaged, and is not: %s, %q", name, w.disk.names[name].content)
			continue
		}
		inDamaged[x] = true
		if !w.told[name] && w.killed+w.cuts == 0 {
			w.breaks("nobody was told of damage: %s", name)
		}
	}
	order := map[string]int{}
	for i, key := range w.decided {
		order[key] = i + 1
	}
	for _, key := range slices.Sorted(maps.Keys(w.all)) {
		x := w.all[key]
		switch {
		case w.effects[key] > 1:
			w.breaks("it was done %d times: %s", w.effects[key], key)
		case x.done > 0 && w.effects[key] == 0 && !inDamaged[x]:
			w.breaks("it was kept, and is lost: %s", key)
		case x.failed && !x.tried && w.cuts == 0 && w.effects[key] > 0:
			w.breaks("it was not kept, and was done: %s", key)
		}
		for _, before := range w.all {
			if before.done > 0 && before.done < x.begun && order[before.entry.Key] > order[key] && order[key] > 0 &&
				!before.corrupted {
				w.breaks("it is out of order: %s before %s", key, before.entry.Key)
			}
		}
	}
}

// saidBy finds a command by the name of its file, which stays when the content changes.
func (w *world) saidBy(file string) *said {
	at, _ := parsePosition(file)
	for _, x := range w.all {
		content, err := encode(x.entry)
		if err == nil && digestOf(content) == at.digest {
			return x
		}
	}
	return nil
}

// proc is a process of the session. Only one runs at a time, and each lets the others run before every operation.
type proc struct {
	w      *world
	outbox *Outbox
	resume chan bool
	done   bool
}

// died ends a killed process.
type died struct{}

func (w *world) start(run func(*proc)) {
	p := &proc{w: w, resume: make(chan bool)}
	p.outbox = On(seen{w.disk, p}, ourSecret)
	p.outbox.entries = w.limit
	w.procs = append(w.procs, p)
	go func() {
		defer func() {
			if reason := recover(); reason != nil {
				if _, killed := reason.(died); !killed {
					panic(reason)
				}
			}
			p.done = true
			w.event <- p
		}()
		if !<-p.resume {
			panic(died{})
		}
		run(p)
	}()
}

// turn lets one process perform one operation.
func (w *world) turn() {
	w.step++
	if len(w.procs) == 0 {
		return
	}
	p := w.procs[w.rng.IntN(len(w.procs))]
	p.resume <- true
	<-w.event
	if p.done {
		w.ended(p)
	}
}

func (w *world) kill(p *proc) {
	p.resume <- false
	<-w.event
	w.ended(p)
}

func (w *world) ended(p *proc) {
	w.procs = slices.DeleteFunc(w.procs, func(o *proc) bool { return o == p })
	for name, holder := range w.disk.locks {
		if holder == p {
			delete(w.disk.locks, name)
		}
	}
}

func (p *proc) yield() {
	p.w.event <- p
	if !<-p.resume {
		panic(died{})
	}
}

// command does what the command line does with a report.
func (p *proc) command(text string) {
	w := p.w
	x := &said{begun: w.step}
	key := fmt.Sprintf("key-%d", len(w.all))
	body, err := json.Marshal(map[string]string{"message": text})
	if err != nil {
		panic(err)
	}
	x.entry = Entry{
		Command:    "report:progress",
		Body:       body,
		Key:        key,
		OccurredAt: time.Unix(int64(w.step), 0).UTC(),
		Generation: generationOf(ourSecret()),
	}
	x.entry.Proof = x.entry.prove(ourSecret())
	w.all[key] = x
	if p.drain() {
		x.tried = true
		if p.reach(x.entry) == nil {
			w.direct++
			x.done = w.step
			return
		}
	}
	waiting, err := p.outbox.Keep(p.patience(), x.entry)
	var full *FullError
	switch {
	case err == nil:
		w.kept++
		w.most = max(w.most, waiting)
		x.done = w.step
	case errors.As(err, &full):
		w.full++
		x.failed = true
	default:
		w.failed++
		x.failed = true
	}
}

// drain delivers the waiting entries, and reports whether nothing blocks a new command.
func (p *proc) drain() bool {
	if waiting, err := p.outbox.Waiting(); err != nil || waiting == 0 {
		return err == nil
	}
	d, err := p.outbox.Deliver(p.patience(), time.Minute, func(_ context.Context, e Entry) error {
		p.w.sending++
		defer func() { p.w.sending-- }()
		if p.w.sending > 1 {
			p.w.breaks("two deliver at once: %s", e.Key)
		}
		return p.reach(e)
	}, func(_ context.Context, u Unproven) (former bool, err error) {
		if u.Entry.refused(ourSecret()) == "" {
			p.w.breaks("it is rejected, and is proven: %s", u.Entry.Key)
		}
		if bytes.Contains(u.Entry.Body, []byte(`"message":"C`)) { // as corrupt writes it
			p.w.breaks("it is called forged, and is damaged: %s", u.Entry.Key)
		}
		return false, nil // the session had no other secret, whatever an entry says
	})
	p.w.delivered += d.Delivered
	for _, damaged := range d.Damaged {
		p.w.told[damaged.File] = true
	}
	return err == nil
}

// patience is a context that the world ends now and then.
func (p *proc) patience() context.Context {
	if !p.w.calm && p.w.chance(5) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		return ctx
	}
	return context.Background()
}

var errAway = errors.New("no answer")

// reach calls the server.
func (p *proc) reach(e Entry) error {
	p.yield()
	w := p.w
	if w.away {
		return errAway
	}
	if !hmac.Equal([]byte(e.Proof), []byte(e.prove(ourSecret()))) {
		w.breaks("an entry without proof is sent: %s", e.Key)
		return nil
	}
	if !strings.HasPrefix(e.Command, "report:") {
		w.breaks("a command that may not wait is sent: %s", e.Command)
		return nil
	}
	x := w.all[e.Key]
	if x == nil || e.Command != x.entry.Command || !bytes.Equal(e.Body, x.entry.Body) ||
		!e.OccurredAt.Equal(x.entry.OccurredAt) {
		w.breaks("it was changed on the way: %+v", e)
		return nil
	}
	if w.effects[e.Key] == 0 {
		w.decided = append(w.decided, e.Key)
		w.effects[e.Key]++
		if w.chance(20) {
			w.refused++ // a final answer like any other
		}
	} else {
		w.again++
	}
	p.yield()
	if !w.calm && (w.away || w.chance(10)) {
		w.lost++
		return errAway
	}
	return nil
}

// inode is a file. durable is what at least survives a crash.
type inode struct{ content, durable []byte }

// change is a change of names that no Sync has made durable yet.
type change struct {
	from, to string
	file     *inode
}

// simDisk is a disk that can crash. The names of the files in damaged/ begin with it.
type simDisk struct {
	w       *world
	names   map[string]*inode
	durable map[string]*inode
	pending []change
	locks   map[string]*proc
}

func (d *simDisk) apply(names map[string]*inode, c change) {
	if c.from != "" && names[c.from] == c.file {
		delete(names, c.from)
	}
	if c.to != "" {
		names[c.to] = c.file
	}
}

func (d *simDisk) change(c change) {
	d.apply(d.names, c)
	d.pending = append(d.pending, c)
}

// cut is a power cut: each change and each write since the last Sync may or may not survive.
func (d *simDisk) cut() {
	for _, c := range d.pending {
		if d.w.chance(50) {
			d.apply(d.durable, c)
		}
	}
	d.pending, d.names = nil, maps.Clone(d.durable)
	for _, name := range slices.Sorted(maps.Keys(d.names)) {
		file := d.names[name]
		if bytes.Equal(file.content, file.durable) {
			continue
		}
		if n := len(file.content); n > 0 {
			file.content = file.content[:d.w.rng.IntN(n+1)]
		}
		file.durable = file.content
	}
}

// seen is one process's view of the disk.
type seen struct {
	*simDisk
	p *proc
}

// fails makes a change fail now and then, as on a full or a broken disk.
func (d seen) fails() error {
	switch {
	case d.w.calm:
	case d.w.chance(1):
		return syscall.ENOSPC
	case d.w.chance(1):
		return syscall.EIO
	}
	return nil
}

func (d seen) Names() ([]string, error) {
	d.p.yield()
	var names []string
	for name := range d.names {
		if !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	d.w.rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names, nil
}

func (d seen) Size(name string) (int64, error) {
	content, err := d.Read(name, maxFile)
	return int64(len(content)), err
}

func (d seen) Read(name string, _ int64) ([]byte, error) {
	d.p.yield()
	file, ok := d.names[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return bytes.Clone(file.content), nil
}

func (d seen) Create(name string) (File, error) {
	d.p.yield()
	if err := d.fails(); err != nil {
		return nil, err
	}
	if file, ok := d.names[name]; ok {
		file.content = nil
		return simFile{d, file}, nil
	}
	file := &inode{}
	d.change(change{"", name, file})
	return simFile{d, file}, nil
}

func (d seen) Rename(from, to string) error {
	d.p.yield()
	file, ok := d.names[from]
	if !ok {
		return fs.ErrNotExist
	}
	if err := d.fails(); err != nil {
		return err
	}
	d.change(change{from, to, file})
	return nil
}

func (d seen) SetAside(name, to string) (string, error) { return name, d.Rename(name, to+"/"+name) }

func (d seen) Remove(name string) error {
	d.p.yield()
	file, ok := d.names[name]
	if !ok {
		return fs.ErrNotExist
	}
	d.change(change{name, "", file})
	return nil
}

func (d seen) Sync() error {
	d.p.yield()
	if err := d.fails(); err != nil {
		return err
	}
	d.durable, d.pending = maps.Clone(d.names), nil
	return nil
}

func (d seen) Lock(ctx context.Context, name string) (func(), error) {
	for d.p.yield(); d.locks[name] != nil; d.p.yield() {
		if err := ctx.Err(); err != nil {
			d.w.gaveUp++
			return nil, err
		}
	}
	d.locks[name] = d.p
	return func() {
		if d.locks[name] == d.p {
			delete(d.locks, name)
		}
	}, nil
}

type simFile struct {
	disk seen
	file *inode
}

func (f simFile) Write(content []byte) (int, error) {
	half := len(content) / 2
	f.disk.p.yield()
	f.file.content = append(bytes.Clone(f.file.content), content[:half]...)
	f.disk.p.yield()
	if err := f.disk.fails(); err != nil {
		return half, err
	}
	f.file.content = append(f.file.content, content[half:]...)
	return len(content), nil
}

func (f simFile) Sync() error {
	f.disk.p.yield()
	if err := f.disk.fails(); err != nil {
		return err
	}
	f.file.durable = bytes.Clone(f.file.content)
	return nil
}

func (f simFile) Close() error { return nil }
