package apidoc

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// packages are those whose types describe requests and answers.
var packages = []string{
	"events", "projections", "commands", "engine", "service", "service/wire", "api/compat", "workers/manifest",
}

// sources is what reflection does not know about types: comments, the constants of a type, and other names.
type sources struct {
	comments map[string]string   // of "maestro/events.Head", and of its fields "maestro/events.Head.Hash"
	words    map[string][]string // of a type of texts
	aliases  map[string]string   // the name in service/wire of a type that is declared elsewhere

	attributes []Attribute
}

// readSources reads the packages below a root.
func readSources(root string) (*sources, error) {
	s := &sources{
		comments: map[string]string{},
		words:    map[string][]string{},
		aliases:  map[string]string{},
	}
	for _, pkg := range packages {
		paths, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pkg), "*.go"))
		if err != nil {
			return nil, err
		}
		slices.Sort(paths)
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			const mode = parser.ParseComments | parser.SkipObjectResolution
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, mode)
			if err != nil {
				return nil, err
			}
			s.read(module+pkg, file)
		}
	}
	return s, nil
}

const module = "maestro/"

func (s *sources) read(pkg string, file *ast.File) {
	imports := map[string]string{}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		imports[path[strings.LastIndexByte(path, '/')+1:]] = path
	}
	for _, declared := range file.Decls {
		group, ok := declared.(*ast.GenDecl)
		if !ok {
			continue
		}
		of := "" // the type of the constants above
		for _, spec := range group.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				s.readType(pkg, imports, group, spec)
			case *ast.ValueSpec:
				if named, ok := spec.Type.(*ast.Ident); ok {
					of = pkg + "." + named.Name
				} else if spec.Type != nil || len(spec.Values) > 0 {
					of = ""
				}
				s.readWords(of, spec)
			}
		}
	}
}

func (s *sources) readWords(of string, spec *ast.ValueSpec) {
	for _, value := range spec.Values {
		literal, ok := value.(*ast.BasicLit)
		if !ok || of == "" || literal.Kind != token.STRING {
			continue
		}
		if word, err := strconv.Unquote(literal.Value); err == nil {
			s.words[of] = append(s.words[of], word)
		}
	}
}

func (s *sources) readType(pkg string, imports map[string]string, group *ast.GenDecl, spec *ast.TypeSpec) {
	name := pkg + "." + spec.Name.Name
	comment := spec.Doc
	if comment == nil && len(group.Specs) == 1 {
		comment = group.Doc
	}
	s.comments[name] = textOf(comment)
	if of, ok := spec.Type.(*ast.SelectorExpr); ok && spec.Assign.IsValid() && pkg == module+"service/wire" {
		if from, ok := of.X.(*ast.Ident); ok {
			s.aliases[imports[from.Name]+"."+of.Sel.Name] = spec.Name.Name
		}
	}
	shape, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range shape.Fields.List {
		text := textOf(field.Doc)
		if text == "" {
			text = textOf(field.Comment)
		}
		for _, ident := range field.Names {
			s.comments[name+"."+ident.Name] = text
		}
	}
}

var link = regexp.MustCompile(`\[([\w.]+)\]`)

func textOf(comment *ast.CommentGroup) string {
	return link.ReplaceAllString(strings.Join(strings.Fields(comment.Text()), " "), "$1")
}

func nameOf(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }

// about returns what a type's comment says about it.
func (s *sources) about(t reflect.Type) string {
	return withoutSubject(s.comments[nameOf(t)], t.Name())
}

// withoutSubject returns a comment without the name that it begins with: "Result is the text" becomes "The text".
func withoutSubject(comment, subject string) string {
	rest, found := strings.CutPrefix(comment, subject+" ")
	if !found {
		return comment
	}
	for _, verb := range []string{"is ", "are "} {
		rest = strings.TrimPrefix(rest, verb)
	}
	first, size := utf8.DecodeRuneInString(rest)
	return string(unicode.ToUpper(first)) + rest[size:]
}

// aboutField returns the comment of a field, with the names that fields have in JSON.
func (s *sources) aboutField(owner reflect.Type, field reflect.StructField) string {
	text := withoutSubject(s.comments[nameOf(owner)+"."+field.Name], field.Name)
	for other := range owner.Fields() {
		if json := jsonName(other); json != "" && json != other.Name {
			text = regexp.MustCompile(`\b`+other.Name+`\b`).ReplaceAllString(text, json)
		}
	}
	return text
}

// jsonName returns the name of a field in JSON; "" if it has none.
func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	if name == "-" || !field.IsExported() {
		return ""
	}
	return name
}
