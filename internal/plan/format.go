package plan

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// YAML writes the plan as a file that Parse reads. Tasks are nested in their parents, otherwise in order; empty fields
// are omitted.
func (p *Plan) YAML() ([]byte, error) {
	below := map[string][]Task{}
	for _, t := range p.Tasks {
		below[t.Parent] = append(below[t.Parent], t)
	}
	top := &yaml.Node{Kind: yaml.MappingNode}
	put(top, "name", p.Name)
	put(top, "description", p.Description)
	put(top, "workingDir", p.WorkingDir)
	tasks, err := list(below, "")
	if err != nil {
		return nil, err
	}
	add(top, "tasks", tasks)
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(top); err != nil {
		return nil, fmt.Errorf("write a plan: %w", err)
	}
	return b.Bytes(), nil
}

// list writes the tasks below a parent.
func list(below map[string][]Task, parent string) (*yaml.Node, error) {
	items := &yaml.Node{Kind: yaml.SequenceNode}
	for _, t := range below[parent] {
		node, err := t.node()
		if err != nil {
			return nil, err
		}
		if len(below[t.ID]) > 0 {
			tasks, err := list(below, t.ID)
			if err != nil {
				return nil, err
			}
			add(node, "tasks", tasks)
		}
		items.Content = append(items.Content, node)
	}
	return items, nil
}

func (t *Task) node() (*yaml.Node, error) {
	node := &yaml.Node{Kind: yaml.MappingNode}
	put(node, "id", t.ID)
	put(node, "title", t.Title)
	put(node, "description", t.Description)
	putList(node, "acceptanceCriteria", t.AcceptanceCriteria, 0)
	if t.Priority != DefaultPriority {
		put(node, "priority", t.Priority)
	}
	putList(node, "dependencies", t.Dependencies, yaml.FlowStyle)
	putList(node, "labels", t.Labels, yaml.FlowStyle)
	put(node, "initialPrompt", t.InitialPrompt)
	putList(node, "skills", t.Skills, yaml.FlowStyle)
	put(node, "model", t.Model)
	if len(t.Metadata) == 0 {
		return node, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(t.Metadata))
	decoder.UseNumber()
	var free map[string]any
	if err := decoder.Decode(&free); err != nil {
		return nil, fmt.Errorf("the metadata of task %s: %w", t.ID, err)
	}
	add(node, "metadata", freeNode(free))
	return node, nil
}

// DefaultPriority is the priority of a task whose plan names none.
const DefaultPriority = "medium"

func add(to *yaml.Node, key string, value *yaml.Node) {
	to.Content = append(to.Content, scalar(key), value)
}

func put(to *yaml.Node, key, text string) {
	if text != "" {
		add(to, key, scalar(text))
	}
}

func putList(to *yaml.Node, key string, texts []string, style yaml.Style) {
	if len(texts) == 0 {
		return
	}
	items := &yaml.Node{Kind: yaml.SequenceNode, Style: style}
	for _, text := range texts {
		items.Content = append(items.Content, scalar(text))
	}
	add(to, key, items)
}

// scalar writes a text, quoted if YAML would otherwise interpret it.
func scalar(text string) *yaml.Node {
	node := &yaml.Node{}
	node.SetString(text)
	return node
}
