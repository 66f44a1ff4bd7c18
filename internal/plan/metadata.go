package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// metadata parses a task's metadata as a JSON object. It does not use the YAML package's decoding of mappings, which
// compares all keys with each other.
func (p *parser) metadata(node *yaml.Node, pointer string) json.RawMessage {
	if node.Kind != yaml.MappingNode {
		p.fault(node.Line, pointer, "expected keys and values, found %s", kindOf(node))
		return nil
	}
	r := free{values: maxValues}
	value, err := r.value(node, 1)
	var text []byte
	if err == nil {
		text, err = json.Marshal(value)
	}
	line := node.Line
	var fault *Fault
	switch {
	case errors.As(err, &fault):
		p.fault(fault.Line, pointer, "%s", fault.Message)
		return nil
	case err != nil:
		p.fault(line, pointer, "this cannot be written as a JSON object: %s", err)
		return nil
	case len(text) > maxMetadata:
		p.fault(line, pointer, "metadata has at most %d bytes as JSON, this has %d", maxMetadata, len(text))
		return nil
	}
	return text
}

// Error makes a fault an error within this package.
func (f *Fault) Error() string { return f.String() }

// free converts YAML to JSON values, within limits.
type free struct{ values int }

func faultAt(node *yaml.Node, format string, args ...any) error {
	return &Fault{Line: node.Line, Message: fmt.Sprintf(format, args...)}
}

func (r *free) value(node *yaml.Node, level int) (any, error) {
	if r.values--; r.values < 0 {
		return nil, faultAt(node, "metadata has at most %d values", maxValues)
	}
	if level > maxLevels && node.Kind != yaml.ScalarNode {
		return nil, faultAt(node, "metadata has at most %d levels", maxLevels)
	}
	switch node.Kind {
	case yaml.MappingNode:
		return r.object(node, level)
	case yaml.SequenceNode:
		list := make([]any, 0, min(len(node.Content), r.values+1))
		for _, item := range node.Content {
			value, err := r.value(item, level+1)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	case yaml.AliasNode: // a short file could expand to an endless one
		return nil, faultAt(node, "a plan may not use aliases")
	case yaml.ScalarNode, yaml.DocumentNode:
	}
	var value any
	err := node.Decode(&value)
	return value, err
}

func (r *free) object(node *yaml.Node, level int) (map[string]any, error) {
	if n := len(node.Content) / 2; n > maxKeys {
		return nil, faultAt(node, "an object in metadata has at most %d keys, this has %d", maxKeys, n)
	}
	object := make(map[string]any, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		switch tag := key.ShortTag(); {
		case key.Kind == yaml.AliasNode || tag == "!!merge":
			return nil, faultAt(key, "a plan may not use aliases")
		case key.Kind != yaml.ScalarNode || level > 1 && tag != "!!str":
			return nil, faultAt(key, "this cannot be written as a JSON object: a key is %s", kindOf(key))
		}
		if _, again := object[key.Value]; again {
			return nil, faultAt(key, "this cannot be written as a JSON object: the key %q appears twice", key.Value)
		}
		value, err := r.value(node.Content[i+1], level+1)
		if err != nil {
			return nil, err
		}
		object[key.Value] = value
	}
	return object, nil
}

// freeNode writes JSON values as YAML, with numbers unchanged.
func freeNode(value any) *yaml.Node {
	switch value := value.(type) {
	case map[string]any:
		node := &yaml.Node{Kind: yaml.MappingNode}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			add(node, key, freeNode(value[key]))
		}
		return node
	case []any:
		node := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range value {
			node.Content = append(node.Content, freeNode(item))
		}
		return node
	case string:
		return scalar(value)
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: value.String()}
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(value)}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
}
