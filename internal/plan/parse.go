package plan

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"maestro/commands"
	"maestro/events"
	"maestro/internal/lazyregexp"
)

// Parse parses and checks a plan. It reports all faults at once, as *InvalidError.
func Parse(content []byte) (*Plan, error) {
	p := parser{lines: map[string]int{}}
	p.document(content)
	if !p.over {
		p.link()
	}
	if len(p.faults) > 0 {
		slices.SortStableFunc(p.faults, func(a, b Fault) int { return cmp.Compare(a.Line, b.Line) })
		return nil, &InvalidError{
			Faults: p.faults[:min(len(p.faults), maxFaults)], Count: len(p.faults), Cut: p.full(),
		}
	}
	return &p.plan, nil
}

type parser struct {
	plan   Plan
	faults []Fault
	// lines holds where each local id was given; pointers the place of each task, by its index in plan.Tasks.
	lines    map[string]int
	pointers []string
	// tooMany says that there were tasks beyond MaxTasks, waiting that there were dependencies beyond MaxDependencies.
	tooMany, waiting bool
	// over says that the plan exceeds a limit, so that what seems missing may only be beyond it.
	over bool
	references
}

// references are the places that name another task.
type references struct {
	parents      []reference
	dependencies []reference
}

type reference struct {
	task    int // in plan.Tasks
	to      string
	line    int
	pointer string
}

// full reports whether there are so many faults that reading stops.
func (p *parser) full() bool { return len(p.faults) >= MaxFaults }

func (p *parser) fault(line int, pointer, format string, args ...any) {
	if p.full() {
		return
	}
	p.faults = append(p.faults, Fault{Line: line, Pointer: pointer, Message: fmt.Sprintf(format, args...)})
}

var yamlLine = lazyregexp.New(`^yaml: (?:line (\d+): )?`)

func (p *parser) document(content []byte) {
	switch {
	case len(content) > MaxBytes:
		p.fault(1, "", "a plan has at most %d bytes, this has %d", MaxBytes, len(content))
		return
	case !utf8.Valid(content):
		p.fault(1, "", "a plan must be UTF-8 text, and this is not")
		return
	}
	if line, wrong := oneDocument(string(content)); line > 0 {
		p.fault(line, "", "%s", wrong)
		return
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document yaml.Node
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) {
		p.fault(1, "", "the plan is empty")
		return
	}
	if err == nil {
		if err = decoder.Decode(new(yaml.Node)); errors.Is(err, io.EOF) {
			err = nil
		} else if err == nil {
			p.fault(1, "", "a plan is one YAML document, and this has more")
			return
		}
	}
	if err != nil {
		line := 1
		if at := yamlLine().FindStringSubmatch(err.Error()); at != nil && at[1] != "" {
			line, _ = strconv.Atoi(at[1]) // digits, as matched
		}
		p.fault(line, "", "this is not YAML: %s", yamlLine().ReplaceAllString(err.Error(), ""))
		return
	}
	p.top(document.Content[0])
}

func (p *parser) top(node *yaml.Node) {
	tasks := 0
	p.object(node, "", map[string]func(*yaml.Node, string){
		"name":        func(n *yaml.Node, at string) { p.plan.Name = p.line(n, at, maxName) },
		"description": func(n *yaml.Node, at string) { p.plan.Description = p.text(n, at) },
		"workingDir":  func(n *yaml.Node, at string) { p.plan.WorkingDir = p.line(n, at, 4096) },
		"tasks":       func(n *yaml.Node, at string) { tasks = n.Line; p.tasks(n, at, "", 0) },
	})
	if len(p.faults) == 0 && len(p.plan.Tasks) == 0 {
		p.fault(max(tasks, node.Line), "/tasks", "a plan needs tasks")
	}
}

// tasks parses a list of tasks; parent is the local id of the task that contains it.
func (p *parser) tasks(node *yaml.Node, pointer, parent string, depth int) {
	if depth >= MaxDepth {
		p.fault(node.Line, pointer, "a plan has at most %d levels of tasks", MaxDepth)
		return
	}
	p.list(node, pointer, 0, "", func(item *yaml.Node, at string) { p.task(item, at, parent, depth) })
}

func (p *parser) task(node *yaml.Node, pointer, parent string, depth int) {
	if len(p.plan.Tasks) == MaxTasks {
		if !p.tooMany {
			p.tooMany, p.over = true, true
			p.fault(node.Line, pointer, "a plan has at most %d tasks", MaxTasks)
		}
		return
	}
	index := len(p.plan.Tasks)
	p.plan.Tasks = append(p.plan.Tasks, Task{})
	p.pointers = append(p.pointers, pointer)
	t := Task{Line: node.Line, Parent: parent}
	var below *yaml.Node
	whole := p.object(node, pointer, map[string]func(*yaml.Node, string){
		"id":                 func(n *yaml.Node, at string) { t.ID = p.id(n, at) },
		"title":              func(n *yaml.Node, at string) { t.Title = p.line(n, at, maxTitle) },
		"description":        func(n *yaml.Node, at string) { t.Description = p.text(n, at) },
		"acceptanceCriteria": func(n *yaml.Node, at string) { t.AcceptanceCriteria = p.texts(n, at) },
		"priority":           func(n *yaml.Node, at string) { t.Priority = p.priority(n, at) },
		"initialPrompt":      func(n *yaml.Node, at string) { t.InitialPrompt = p.text(n, at) },
		"skills":             func(n *yaml.Node, at string) { t.Skills = p.texts(n, at) },
		"model":              func(n *yaml.Node, at string) { t.Model = p.line(n, at, maxName) },
		"labels":             func(n *yaml.Node, at string) { t.Labels = p.labels(n, at) },
		"metadata":           func(n *yaml.Node, at string) { t.Metadata = p.metadata(n, at) },
		"tasks":              func(n *yaml.Node, _ string) { below = n },
		"parent": func(n *yaml.Node, at string) {
			named := p.text(n, at)
			if named == "" {
				return
			}
			if parent != "" && named != parent {
				p.fault(n.Line, at, "it is listed below %q, but names %q as its parent", parent, named)
				return
			}
			t.Parent = named
			p.parents = append(p.parents, reference{index, named, n.Line, at})
		},
		"dependencies": func(n *yaml.Node, at string) { p.waitsFor(n, at, index, &t) },
	})
	if whole {
		p.complete(&t, pointer)
	}
	if field, n := t.tooLong(); field != "" {
		p.fault(node.Line, pointer, "%s has %d bytes as JSON; the server takes at most %d with its name", field, n,
			MaxTask)
	}
	p.plan.Tasks[index] = t
	if below != nil {
		if t.ID == "" && whole {
			p.fault(node.Line, pointer, "a task with tasks in it needs an id")
		}
		p.tasks(below, pointer+"/tasks", t.ID, depth+1)
	}
}

// waitsFor parses the dependencies of a task.
func (p *parser) waitsFor(node *yaml.Node, pointer string, index int, t *Task) {
	seen := map[string]bool{}
	p.list(node, pointer, 0, "", func(item *yaml.Node, at string) {
		id := p.text(item, at)
		switch {
		case id == "" || seen[id]:
			return
		case len(t.Dependencies) == maxWaitsFor:
			if !seen[""] {
				seen[""], p.over = true, true
				p.fault(item.Line, at, "a task has at most %d dependencies", maxWaitsFor)
			}
			return
		case len(p.dependencies) == MaxDependencies:
			if !p.waiting {
				p.waiting, p.over = true, true
				p.fault(item.Line, at, "a plan has at most %d dependencies", MaxDependencies)
			}
			return
		}
		seen[id] = true
		t.Dependencies = append(t.Dependencies, id)
		p.dependencies = append(p.dependencies, reference{index, id, item.Line, at})
	})
}

// complete reports what a task lacks.
func (p *parser) complete(t *Task, pointer string) {
	if t.ID == "" && !p.faulty(pointer+"/id") {
		p.fault(t.Line, pointer+"/id", "a task needs an id, which is any short word that no other task of the plan has")
	}
	if t.Title == "" && !p.faulty(pointer+"/title") {
		p.fault(t.Line, pointer+"/title", "task %q needs a title", t.ID)
	}
	if t.ID == "" {
		return
	}
	if first, taken := p.lines[t.ID]; taken {
		p.fault(t.Line, pointer+"/id", "the id %q is taken by the task in line %d", t.ID, first)
		return
	}
	p.lines[t.ID] = t.Line
}

func (p *parser) faulty(pointer string) bool {
	return slices.ContainsFunc(p.faults, func(f Fault) bool { return f.Pointer == pointer })
}

// object passes each member to the function of its key, and reports unknown and duplicate keys. It returns whether the
// node is an object at all.
func (p *parser) object(node *yaml.Node, pointer string, members map[string]func(*yaml.Node, string)) bool {
	if node.Kind != yaml.MappingNode {
		p.fault(node.Line, pointer, "expected keys and values, found %s", kindOf(node))
		return false
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(node.Content) && !p.full(); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		at := pointer + "/" + escape(key.Value)
		read, known := members[key.Value]
		first, again := seen[key.Value]
		switch {
		case !known:
			p.fault(key.Line, at, "there is no key %q here%s", key.Value, suggestion(key.Value, members))
		case again:
			p.fault(key.Line, at, "%q was given in line %d already", key.Value, first)
		case value.Tag == "!!null":
		default:
			read(value, at)
		}
		seen[key.Value] = key.Line
	}
	return true
}

// list passes each entry of a list to a function. It reads no entry of a list that is too long: most is the limit, and
// what names its entries; 0 is no limit here.
func (p *parser) list(node *yaml.Node, pointer string, most int, what string, item func(*yaml.Node, string)) {
	if node.Kind != yaml.SequenceNode {
		p.fault(node.Line, pointer, "expected a list, found %s", kindOf(node))
		return
	}
	if n := len(node.Content); most > 0 && n > most {
		p.fault(node.Line, pointer, "at most %d %s, these are %d", most, what, n)
		return
	}
	for i, n := range node.Content {
		if p.full() {
			return
		}
		item(n, pointer+"/"+strconv.Itoa(i))
	}
}

func (p *parser) text(node *yaml.Node, pointer string) string {
	if node.Kind != yaml.ScalarNode {
		p.fault(node.Line, pointer, "expected a text, found %s", kindOf(node))
		return ""
	}
	if strings.ContainsRune(node.Value, 0) {
		p.fault(node.Line, pointer, "the text contains a NUL character")
		return ""
	}
	return node.Value
}

func (p *parser) line(node *yaml.Node, pointer string, most int) string {
	text := strings.TrimSpace(p.text(node, pointer))
	if n := utf8.RuneCountInString(text); n > most {
		p.fault(node.Line, pointer, "at most %d characters, this has %d", most, n)
	}
	if !commands.IsOneLine(text) {
		p.fault(node.Line, pointer, "this is one line of plain text, and it contains a control character")
	}
	return text
}

func (p *parser) texts(node *yaml.Node, pointer string) []string {
	var texts []string
	p.list(node, pointer, maxList, "entries", func(item *yaml.Node, at string) {
		text := p.text(item, at)
		if len(text) > MaxText {
			p.fault(item.Line, at, "the text has %d bytes; an entry of a list has at most %d", len(text), MaxText)
		}
		texts = append(texts, text)
	})
	return texts
}

// labels parses words that group tasks. The command line takes several, separated by commas.
func (p *parser) labels(node *yaml.Node, pointer string) []string {
	var labels []string
	seen := map[string]bool{}
	p.list(node, pointer, maxList, "labels", func(item *yaml.Node, at string) {
		label := p.line(item, at, maxName)
		switch {
		case label == "" || strings.Contains(label, ","):
			p.fault(item.Line, at, "%q is not a label; a label is a short text without a comma", label)
		case !seen[label]:
			seen[label] = true
			labels = append(labels, label)
		}
	})
	return labels
}

func (p *parser) id(node *yaml.Node, pointer string) string {
	id := p.line(node, pointer, maxID)
	if strings.ContainsFunc(id, unicode.IsSpace) {
		p.fault(node.Line, pointer, "the id %q contains a space", id)
	}
	return id
}

func (p *parser) priority(node *yaml.Node, pointer string) string {
	priority := p.text(node, pointer)
	if priority != "" && !slices.Contains(events.Priorities(), priority) {
		p.fault(node.Line, pointer, "%q is not a priority; it is "+events.AnyPriority, priority)
	}
	return priority
}

func kindOf(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "keys and values"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias, which a plan may not use"
	case yaml.ScalarNode:
		if node.Value == "" {
			return "nothing"
		}
	case yaml.DocumentNode:
	}
	return "a text"
}

// suggestion names the key that was probably meant.
func suggestion(key string, members map[string]func(*yaml.Node, string)) string {
	meant, other := map[string]string{
		"parentId": "parent", "dependsOn": "dependencies", "depends-on": "dependencies", "depends_on": "dependencies",
		"criteria": "acceptanceCriteria", "acceptance_criteria": "acceptanceCriteria", "children": "tasks",
		"skillIds": "skills",
		"project":  "name", "prompt": "initialPrompt",
	}[key]
	if _, known := members[meant]; other && known {
		return fmt.Sprintf("; did you mean %q?", meant)
	}
	keys := make([]string, 0, len(members))
	for name := range members {
		if strings.EqualFold(name, key) {
			return fmt.Sprintf("; did you mean %q?", name)
		}
		keys = append(keys, name)
	}
	slices.Sort(keys)
	return "; there are " + strings.Join(keys, ", ")
}

// escape escapes a key as a part of a JSON pointer.
func escape(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }
