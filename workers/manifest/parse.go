package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"maestro/internal/safetext"
)

// Reader parses manifests. The zero value knows the standard agents.
type Reader struct {
	// Agents are the names of additional agents that are configured here, besides claude, codex, gemini and auto.
	Agents []string
	// AnyAgent accepts every agent that could be configured: for manifests that a server has checked already.
	AnyAgent bool
}

// ParseChecked is Parse for a manifest that a server gave: only the server knows which agents are configured.
func ParseChecked(document []byte) (*Manifest, error) { return Reader{AnyAgent: true}.Parse(document) }

// Parse parses a manifest strictly; an *InvalidError lists all its faults. It accepts a manifest from before tasks were
// a list, and converts it. See Reader for additional agents.
func Parse(document []byte) (*Manifest, error) { return Reader{}.Parse(document) }

// Parse is Parse with the reader's agents. The manifest retains none of the document's bytes.
func (r Reader) Parse(document []byte) (*Manifest, error) {
	m, _, err := r.read(document)
	return m, err
}

// read also reports whether the document has an old form.
func (r Reader) read(source []byte) (m *Manifest, legacy bool, err error) {
	if err := envelope(source); err != nil {
		return nil, false, err
	}
	p := &parser{
		scanner:  scanner{document: source},
		agents:   []string{defaultAgent, "codex", "gemini", "auto"},
		anyAgent: r.AnyAgent,
	}
	for _, name := range r.Agents {
		if !slices.Contains(p.agents, name) {
			p.agents = append(p.agents, name)
		}
	}
	var d document
	p.space()
	if p.at == len(source) {
		return nil, false, whole("the document is empty; a manifest is a JSON object")
	}
	if !p.value(documentShape(), reflect.ValueOf(&d).Elem()) {
		return nil, false, whole(p.broken)
	}
	if p.space(); p.at < len(source) {
		p.unexpected("nothing more")
		return nil, false, whole(p.broken)
	}
	p.relations()
	if err := p.faults.err(); err != nil {
		return nil, false, err
	}
	legacy = p.migrate(&d)
	// Strings may grow when they are written, and the result must still be readable.
	if len(source) > MaxSize/2 && len(d.compact()) > MaxSize {
		return nil, false, whole(tooLarge(len(d.compact())))
	}
	return &d.Manifest, legacy, nil
}

// migrate moves members that were renamed.
func (p *parser) migrate(d *document) (legacy bool) {
	if d.Task != nil {
		d.Tasks, legacy = []Task{*d.Task}, true
	}
	if d.OrchestratorStrategy != "" {
		d.Strategy, legacy = d.OrchestratorStrategy, true
	}
	if d.Tasks == nil {
		d.Tasks = []Task{}
	}
	return legacy
}

func tooLarge(size int) string {
	return fmt.Sprintf("the document has %d bytes; a manifest has at most %d (16 MiB)", size, MaxSize)
}

// envelope checks what needs no parsing, so that a document that is far too large costs nothing.
func envelope(document []byte) error {
	switch {
	case len(document) > MaxSize:
		return whole(tooLarge(len(document)))
	case bytes.HasPrefix(document, []byte("\xef\xbb\xbf")):
		return whole("the document begins with a byte order mark; save it as UTF-8 without one")
	case !utf8.Valid(document):
		at := 0
		for {
			r, size := utf8.DecodeRune(document[at:])
			if r == utf8.RuneError && size <= 1 {
				return whole("byte " + strconv.Itoa(at+1) + " is not UTF-8; save the document as UTF-8")
			}
			at += size
		}
	}
	return nil
}

// parser decodes a document into the types, according to their shapes.
type parser struct {
	scanner
	agents   []string
	anyAgent bool
	found    [uses][]located
}

// use marks a part of the document that is checked against another.
type use uint8

const (
	useRole use = iota
	useStrategy
	useOrchestratorStrategy
	useTasks
	useTask
	useID
	useParent
	useDependency
	useModel
	useCommand
	useAgent
	uses
)

var useNames = map[string]use{
	"role": useRole, "strategy": useStrategy, "orchestratorStrategy": useOrchestratorStrategy, "tasks": useTasks,
	"task": useTask,
	"id":   useID, "parent": useParent, "dependency": useDependency, "model": useModel, "command": useCommand,
	"agent": useAgent,
}

// located is a valid text, or a list, with its place. There may be millions of them.
type located struct {
	text string
	at   int32
	// task is the position of its task, noTask for the legacy member task.
	task int32
	// item is its index in its list; for a list its length.
	item int32
}

const noTask = -1

// locate records a text or a list for the checks that need the whole document.
func (p *parser) locate(name, text string, at, length int) {
	if name == "" {
		return
	}
	l := located{
		text: text,
		at:   int32(at),
		task: noTask,
		item: int32(length),
	}
	for i, s := range p.path {
		switch {
		case s.index < 0:
		case i == 1 && p.path[0].name == "tasks":
			l.task = int32(s.index)
		default:
			l.item = int32(s.index)
		}
	}
	u := useNames[name]
	p.found[u] = append(p.found[u], l)
}

// value decodes the next value according to a shape. A value of another kind is a fault, and skipped.
func (p *parser) value(s *shape, into reflect.Value) bool {
	at := p.at
	found, is := kindAt(p.next())
	switch {
	case !is:
		return p.unexpected("a value")
	case found == aNull && s.nullable:
		return p.word("null")
	case found == aNull:
		p.fault(at, "must be %s, not null; leave it out instead", s.kind)
		return p.skip()
	case found != s.kind.plain():
		p.fault(at, "must be %s, not %s", s.kind, found)
		return p.skip()
	}
	if into.Kind() == reflect.Pointer {
		into.Set(reflect.New(into.Type().Elem()))
		into = into.Elem()
	}
	switch s.kind {
	case anObject:
		return p.fields(s, into)
	case freeObject:
		if !p.skip() {
			return false
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, p.document[at:p.at]); err != nil {
			return p.breaks(at, "%v", err)
		}
		into.SetBytes(compact.Bytes())
		return true
	case aList:
		return p.items(s, into)
	case aText:
		return p.string(s, into)
	case anInteger, aNumber:
		return p.amount(s, into)
	case aBoolean:
		into.SetBool(p.next() == 't')
		return p.skip()
	default: // no shape is of null
		return p.unexpected("a value")
	}
}

// plain returns the kind as it appears in the document.
func (k kind) plain() kind {
	switch k {
	case freeObject:
		return anObject
	case anInteger:
		return aNumber
	default:
		return k
	}
}

func kindAt(c byte) (kind, bool) {
	switch {
	case c == '{':
		return anObject, true
	case c == '[':
		return aList, true
	case c == '"':
		return aText, true
	case c == '-' || c >= '0' && c <= '9':
		return aNumber, true
	case c == 't' || c == 'f':
		return aBoolean, true
	case c == 'n':
		return aNull, true
	}
	return 0, false
}

func (p *parser) fields(s *shape, into reflect.Value) bool {
	var seen uint64
	ok := p.object(func(name string, at int) bool {
		f := s.byName[name]
		if f == nil {
			p.faultAs(at, func() string { return s.unknown(name) })
			return p.skip()
		}
		seen |= 1 << f.number
		if f.legacy != "" {
			// In its present form it may be one level deeper, and must then still be readable.
			p.depth++
			defer func() { p.depth-- }()
			if f.shape.kind == anObject {
				p.found[useTask] = append(p.found[useTask], located{at: int32(at)})
			}
		}
		return p.value(f.shape, into.FieldByIndex(f.index))
	})
	if !ok {
		return false
	}
	for _, f := range s.fields {
		if f.required && seen&(1<<f.number) == 0 && !s.replaced(f, seen) {
			p.faultAtMember(p.at, f.name, "is missing; it must be %s", f.shape.asked())
		}
	}
	return true
}

// replaced reports whether a legacy member stands for this one.
func (s *shape) replaced(f *field, seen uint64) bool {
	return slices.ContainsFunc(s.fields, func(old *field) bool {
		return old.legacy == f.name &&
			seen&(1<<old.number) != 0
	})
}

// asked says what a value should be.
func (s *shape) asked() string {
	switch {
	case s.rule != nil && s.rule.enum != nil:
		return choice(s.rule.enum)
	case s.rule != nil && s.rule.what != "":
		return s.rule.what
	}
	return s.kind.String()
}

// unknown says that there is no such member, and which one may be meant.
func (s *shape) unknown(name string) string {
	plain := func(name string) string {
		return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
	}
	for _, f := range s.fields {
		if plain(f.name) == plain(name) {
			return "there is no such member; the name is " + quoted(f.name) + ", in just these letters"
		}
	}
	return "there is no such member; put your own data into a task's metadata or into context.custom"
}

func (p *parser) items(s *shape, into reflect.Value) bool {
	at, count := p.at, 0
	list := reflect.MakeSlice(into.Type(), 0, 0)
	item := reflect.New(into.Type().Elem()).Elem()
	ok := p.list(func(int) bool {
		count++
		item.SetZero()
		if !p.value(s.items, item) {
			return false
		}
		// A document with a fault is not returned, so its values need not be kept.
		if p.faults.total == 0 {
			list = reflect.Append(list, item)
		}
		return true
	})
	if !ok {
		return false
	}
	if count < s.atLeast {
		p.fault(at, "must not be empty")
	}
	if list.Len() > 0 || s.keepsEmpty {
		into.Set(list)
	}
	p.locate(s.use, "", at, count)
	return true
}

func (p *parser) string(s *shape, into reflect.Value) bool {
	at := p.at
	text, whole, ok := p.text(true)
	if !ok {
		return false
	}
	if !whole {
		p.fault(at, "contains half of a surrogate pair, which is not a character")
		return true
	}
	if wrong := s.rule.faultOf(text); wrong != "" {
		p.fault(at, "%s", wrong)
		return true
	}
	into.SetString(text)
	p.locate(s.use, text, at, 0)
	return true
}

func (p *parser) amount(s *shape, into reflect.Value) bool {
	at := p.at
	text, ok := p.number()
	if !ok {
		return false
	}
	if s.kind == aNumber {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			p.fault(at, "must be a number below 1.8e308, not %s", safetext.Printable(text))
			return true
		}
		into.SetFloat(n)
		return true
	}
	n, is := integer(text)
	if !is || n < s.rule.lowest || n > s.rule.highest {
		p.fault(at, "must be a whole number from %d to %d, not %s", s.rule.lowest, s.rule.highest,
			safetext.Printable(text))
		return true
	}
	into.SetInt(n)
	return true
}

// integer returns the value of a JSON number if it is whole, in any notation: 1e3 and 1.0 are.
func integer(text string) (int64, bool) {
	mantissa, power, _ := strings.Cut(strings.ToLower(text), "e")
	digits, fraction, _ := strings.Cut(mantissa, ".")
	exponent := int64(0)
	if power != "" {
		n, err := strconv.ParseInt(power, 10, 32)
		if err != nil {
			n = math.MaxInt32
			if strings.HasPrefix(power, "-") {
				n = -n
			}
		}
		exponent = n
	}
	fraction = strings.TrimRight(fraction, "0")
	digits += fraction
	exponent -= int64(len(fraction))
	if strings.Trim(digits, "-0") == "" {
		return 0, true
	}
	for ; exponent < 0 && strings.HasSuffix(digits, "0"); exponent++ {
		digits = digits[:len(digits)-1]
	}
	const most = 19 // digits of an int64
	if exponent < 0 || exponent > most || int64(len(digits))+exponent > 2*most {
		return 0, false
	}
	n, err := strconv.ParseInt(digits+strings.Repeat("0", int(exponent)), 10, 64)
	return n, err == nil
}
