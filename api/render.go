package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"sync"

	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

// Answers are rendered as they are written: at most sendEvery and one item of a list are in memory at a time. What is
// rendered and not yet written counts against the budgets of the caller and of the server, so that callers that do not
// read hold little.

// sendEvery is how many bytes of an answer are buffered before they are sent.
const sendEvery = 64 << 10

// usualTask is the size of most tasks of a list.
const usualTask = 1 << 10

// parted is an object whose last members are rendered one after the other.
type parted interface {
	Parts() (head any, names []string, members []any)
}

// slice is any slice as a list.
type slice struct{ reflect.Value }

func (s slice) Each(yield func(any) bool) {
	for i := range s.Len() {
		if !yield(s.Index(i).Interface()) {
			return
		}
	}
}

// encoder writes a value as JSON, in parts.
type encoder struct {
	buffer bytes.Buffer
	json   *json.Encoder
	// send writes the buffer. goOn runs after it when there is more; nil if nothing needs to run.
	send func([]byte) error
	goOn func() error
}

func newEncoder() *encoder {
	e := &encoder{}
	e.json = json.NewEncoder(&e.buffer)
	e.json.SetEscapeHTML(false)
	return e
}

// encoders keeps the encoders of lists with their buffers, which would otherwise grow anew for each answer. Other
// answers are short.
type encoders struct{ pool sync.Pool }

func (p *encoders) get(list bool) *encoder {
	if list {
		if e, ok := p.pool.Get().(*encoder); ok {
			return e
		}
	}
	return newEncoder()
}

// put takes back the encoder of a list that has not failed: after an error, a json.Encoder writes nothing more.
func (p *encoders) put(list bool, e *encoder) {
	if list {
		e.send, e.goOn = nil, nil
		p.pool.Put(e)
	}
}

// value renders any value, and a list item by item.
func (e *encoder) value(v any) error {
	switch v := v.(type) {
	case parted:
		head, names, members := v.Parts()
		return e.object(head, names, members...)
	case service.Tree:
		return e.tree(v)
	case service.Listed:
		return e.list(v)
	case json.Marshaler:
		return e.whole(v)
	}
	if r := reflect.ValueOf(v); r.Kind() == reflect.Slice && !r.IsNil() && r.Type().Elem().Kind() != reflect.Uint8 {
		return e.list(slice{r})
	}
	return e.whole(v)
}

// whole renders a value at once.
func (e *encoder) whole(v any) error {
	if err := e.append(v); err != nil {
		return err
	}
	return e.sendFull()
}

// append appends a value to the buffer.
func (e *encoder) append(v any) error {
	if task, ok := v.(*projections.TaskView); ok {
		e.buffer.Grow(usualTask)
		b, err := task.AppendJSON(e.buffer.AvailableBuffer())
		e.buffer.Write(b)
		return err
	}
	err := e.json.Encode(v)
	e.buffer.Truncate(max(0, e.buffer.Len()-len("\n")))
	return err
}

func (e *encoder) list(l service.Listed) error {
	e.buffer.WriteByte('[')
	first := true
	var err error
	l.Each(func(item any) bool {
		if !first {
			e.buffer.WriteByte(',')
		}
		first = false
		err = e.value(item)
		return err == nil
	})
	e.buffer.WriteByte(']')
	return err
}

// object renders an object with more members after its own.
func (e *encoder) object(head any, names []string, members ...any) error {
	if err := e.append(head); err != nil {
		return err
	}
	e.buffer.Truncate(e.buffer.Len() - len("}"))
	if err := e.sendFull(); err != nil {
		return err
	}
	for i, member := range members {
		e.buffer.WriteString(`,"` + names[i] + `":`)
		if err := e.value(member); err != nil {
			return err
		}
	}
	e.buffer.WriteByte('}')
	return e.sendFull()
}

// tree renders a tree of tasks one by one: there may be megabytes of it.
func (e *encoder) tree(t service.Tree) error {
	names, members := []string{"children"}, []any{t.Children()}
	if below := t.Below(); below > 0 {
		names, members = append(names, "below"), append(members, below)
	}
	return e.object(t.Task(), names, members...)
}

func (e *encoder) sendFull() error {
	if e.buffer.Len() < sendEvery {
		return nil
	}
	if err := e.sendAll(); err != nil || e.goOn == nil {
		return err
	}
	return e.goOn()
}

func (e *encoder) sendAll() error {
	err := e.send(e.buffer.Bytes())
	e.buffer.Reset()
	if e.buffer.Cap() > 2*sendEvery {
		e.buffer = bytes.Buffer{}
	}
	return err
}

// unsentError says that the client does not receive its answer.
type unsentError struct{ err error }

func (e *unsentError) Error() string { return "the answer was not taken: " + e.err.Error() }

func (e *unsentError) Unwrap() error { return e.err }

// lostError says that the caller lost the right to an answer while it was sent.
type lostError struct{ err error }

func (e *lostError) Error() string { return "its caller lost the right to it: " + e.err.Error() }

func (e *lostError) Unwrap() error { return e.err }

// response is an answer in progress: the status is sent with the first byte, so that an answer for which there is no
// room can still become 429.
type response struct {
	http.ResponseWriter
	server  *server
	request *http.Request
	call    *call
	status  int
	begun   bool
	sent    int64
	// since is how many bytes were sent since the caller's right to the answer was last checked.
	since int
}

// Unwrap lets http.ResponseController find the connection.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *response) WriteHeader(status int) { w.status = status }

// Write implements http.ResponseWriter. It stops an answer to a read whose caller has lost the right to it meanwhile,
// because a client that reads slowly takes as long as it wants.
func (w *response) Write(b []byte) (n int, err error) {
	w.begin()
	for {
		if err := w.mayGoOn(); err != nil {
			return n, err
		}
		part := b[n:min(len(b), n+sendEvery)]
		written, err := w.ResponseWriter.Write(part)
		n += written
		w.since += written
		w.sent += int64(written)
		if err != nil || n == len(b) {
			return n, err
		}
	}
}

// mayGoOn checks the caller's right to the rest of the answer, once for every sendEvery bytes.
func (w *response) mayGoOn() error {
	if w.since < sendEvery || w.call == nil || !w.call.Reads {
		return nil
	}
	w.since = 0
	if err := w.server.MayGoOn(w.call.Caller); err != nil {
		return &lostError{err}
	}
	return nil
}

// send writes a part of a rendered answer.
func (w *response) send(b []byte) error {
	_, err := w.Write(b)
	if err == nil || errors.As(err, new(*lostError)) {
		return err
	}
	return &unsentError{err}
}

func (w *response) begin() {
	if w.begun {
		return
	}
	w.begun = true
	if w.status != 0 {
		w.ResponseWriter.WriteHeader(w.status)
	}
}

// errMixed says that the parts of an answer are from several moments, and that nothing of it was sent.
var errMixed = errors.New("api: the answer mixes several moments")

// marshal writes the body of a route's answer. With again, it reports an answer that mixes several moments, if nothing
// of it was sent yet, and does not write it.
func (s *server) marshal(to http.ResponseWriter, v any, again bool) (mixed bool) {
	w, ok := to.(*response)
	if !ok {
		encoder := json.NewEncoder(to)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(v); err != nil {
			s.Logger.Debug("a client went away before its answer", "why", err)
		}
		return false
	}
	v, err := w.page(v)
	if err == nil {
		err = w.render(v, again)
	}
	var unsent *unsentError
	switch {
	case err == nil:
	case errors.Is(err, errMixed):
		delete(w.Header(), wire.HeaderNext)
		return true
	case errors.As(err, &unsent):
		w.server.Logger.Debug("a client did not take its answer", "why", err)
	case w.begun:
		w.server.breakOff(w, w.request, true, false, err)
	default:
		w.status = 0
		w.server.fail(w, w.request, err)
	}
	return false
}

// render writes a value within the budgets. Once the first part is written, the budgets only count. With again, it
// fails with errMixed instead of sending a short answer that mixes several moments.
func (w *response) render(v any, again bool) error {
	memory := memoryOf(v)
	list := memory > 0
	e := w.server.encoders.get(list)
	held := int64(max(sendEvery, e.buffer.Cap())) + memory
	if err := w.hold(held); err != nil {
		return err
	}
	defer func() { w.call.admission.Free(held) }()
	var turn service.Turn
	defer turn.End()
	e.send = func(b []byte) error {
		turn.End() // others have their turns while this part is written
		if more := int64(cap(b)) - held; more > 0 {
			if err := w.hold(more); err != nil {
				return err
			}
			held += more
		}
		return w.send(b)
	}
	e.goOn = func() (err error) {
		turn, err = w.server.Turn(w.request.Context(), w.call.Caller)
		return err
	}
	if err := service.RecoverPart(func() error { return e.value(v) }); err != nil {
		return err
	}
	e.buffer.WriteByte('\n')
	if until, several := w.call.ReadUntil(); several && w.request.Method == http.MethodGet {
		if again && !w.begun {
			return errMixed
		}
		w.until(until)
	}
	if err := e.sendAll(); err != nil {
		return err
	}
	w.server.encoders.put(list, e)
	return nil
}

// until says up to which sequence parts of the answer may be newer: in a header, or in a trailer of what has begun.
func (w *response) until(sequence uint64) {
	name := wire.HeaderUntil
	if w.begun {
		name = http.TrailerPrefix + name
	}
	w.Header()[name] = []string{sequenceText(sequence)}
}

// hold counts bytes of the answer. A completed change is always answered.
func (w *response) hold(n int64) error {
	over := w.call.admission.Render(n)
	switch {
	case over == nil:
		return nil
	case w.begun || w.request.Method != http.MethodGet:
		w.call.admission.RenderAnyway(n)
		return nil
	}
	return over
}

// memoryOf estimates the memory of a view while it is written, apart from the texts that it shares with the state.
func memoryOf(v any) int64 {
	switch v := v.(type) {
	case service.TaskPage:
		return v.Held
	case service.TreePage:
		return v.Held
	case []any: // a page
		total := int64(len(v)) * itemSize
		for _, item := range v {
			total += int64(reflect.TypeOf(item).Size()) + memoryOf(item)
		}
		return total
	case interface{ Held() int64 }:
		return v.Held()
	case projections.TaskView:
		return v.Size()
	}
	if r := reflect.ValueOf(v); r.Kind() == reflect.Slice {
		return int64(r.Len()) * int64(r.Type().Elem().Size())
	}
	return 0
}

// itemSize is the memory that a page takes for an item in addition to the item itself.
const itemSize = 16

// raw answers with the given bytes.
func (s *server) raw(w http.ResponseWriter, r *http.Request, body []byte) {
	out, ok := w.(*response)
	if !ok {
		s.write(w, body)
		return
	}
	if err := out.hold(int64(len(body))); err != nil {
		w.Header().Del("Content-Disposition")
		s.fail(w, r, err)
		return
	}
	defer out.call.admission.Free(int64(len(body)))
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	s.write(w, body)
}
