package manifest

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// kind is a kind of JSON value, as in the schema.
type kind uint8

const (
	anObject kind = iota
	aList
	aText
	anInteger
	aNumber
	aBoolean
	// freeObject is an object with any members.
	freeObject
	// aNull is the kind of no shape.
	aNull
)

func (k kind) String() string {
	switch k {
	case anObject, freeObject:
		return "an object"
	case aList:
		return "a list"
	case aText:
		return "a text"
	case anInteger:
		return "a whole number"
	case aNumber:
		return "a number"
	case aBoolean:
		return "true or false"
	case aNull:
		return "null"
	}
	return "a value"
}

// shape is a Go type of the manifest as JSON: Parse follows it, and Schema is generated from it.
type shape struct {
	kind kind
	// name is the name of an object's Go type.
	name   string
	fields []*field
	byName map[string]*field
	items  *shape
	// atLeast is the minimum length of a list; keepsEmpty distinguishes an empty list from none.
	atLeast    int
	keepsEmpty bool
	rule       *rule
	use        string
	nullable   bool
}

type field struct {
	name     string
	index    []int
	number   int
	required bool
	// legacy names the member that replaced this one.
	legacy string
	doc    string
	shape  *shape
}

// documentShape is the shape of the whole document, built once.
var documentShape = sync.OnceValue(func() *shape {
	return shapeOf(reflect.TypeFor[document](), "")
})

var rawMessage = reflect.TypeFor[json.RawMessage]()

// shapeOf derives a shape from a type and the tags of its field. A type that the schema cannot express is a bug in this
// package, which its first test shows.
func shapeOf(t reflect.Type, tag reflect.StructTag) *shape {
	s := &shape{use: tag.Get("use"), nullable: tag.Get("null") != ""}
	switch name := tag.Get("is"); {
	case name == "":
	case strings.Contains(name, "|"):
		s.rule = &rule{enum: strings.Split(name, "|")}
	default:
		r, ok := rules[name]
		if !ok {
			panic("manifest: no rule " + name)
		}
		s.rule = &r
	}
	if t == rawMessage {
		s.kind = freeObject
		return s
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
		s.keepsEmpty = true
	}
	switch t.Kind() {
	case reflect.Struct:
		s.kind, s.name, s.byName = anObject, t.Name(), map[string]*field{}
		s.addFields(t, nil)
	case reflect.Slice:
		s.kind, s.items = aList, shapeOf(t.Elem(), tag)
		s.rule, s.nullable, s.items.nullable = nil, false, false
		if s.items.kind == anObject {
			s.items.use = ""
		} else {
			s.use = ""
		}
		s.atLeast, _ = strconv.Atoi(tag.Get("atLeast"))
	case reflect.String:
		s.kind = aText
	case reflect.Int, reflect.Int64:
		s.kind = anInteger
	case reflect.Float64:
		s.kind = aNumber
	case reflect.Bool:
		s.kind = aBoolean
	default:
		panic("manifest: no shape for " + t.String())
	}
	return s
}

func (s *shape) addFields(t reflect.Type, above []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(above[:len(above):len(above)], i)
		if f.Anonymous {
			s.addFields(f.Type, index)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		added := &field{
			name:     name,
			index:    index,
			number:   len(s.fields),
			legacy:   f.Tag.Get("legacy"),
			doc:      f.Tag.Get("doc"),
			required: options != "omitempty" && f.Tag.Get("null") == "",
			shape:    shapeOf(f.Type, f.Tag),
		}
		added.shape.keepsEmpty = added.shape.keepsEmpty || added.required
		s.fields = append(s.fields, added)
		s.byName[name] = added
	}
}
