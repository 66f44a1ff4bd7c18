package cli

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// bindQuery declares the flags of a list: each field of the query's shape that has a flag tag. The tag has the flag's
// name and what a value is called, the words that it may be, or "true" for a flag without a value:
//
//	Ready string `query:"ready" flag:"ready true" doc:"true: that can be started"`
//
// The doc tag says which items the list is narrowed to: "with this status", or a whole "only this kind". If it explains
// the words one after the other, "dependencies: …; siblings: …", it stays as it is.
func bindQuery(cmd *cobra.Command, query any, own ...ownWord) {
	v := reflect.ValueOf(query).Elem()
	for _, of := range reflect.VisibleFields(v.Type()) {
		tag, ok := of.Tag.Lookup("flag")
		if !ok {
			continue
		}
		name, takes, _ := strings.Cut(tag, " ")
		doc := strings.TrimPrefix(of.Tag.Get("doc"), "true: ")
		words := strings.Split(takes, "|")
		if !strings.HasPrefix(doc, "only ") && !strings.HasPrefix(doc, words[0]+": ") {
			doc = "only those " + doc
		}
		note(cmd, of.Tag.Get("query"), "--"+name)
		value := v.FieldByIndex(of.Index).Addr().Interface().(*string)
		if takes == "true" {
			cmd.Flags().Var(trueValue{value}, name, doc)
			cmd.Flags().Lookup(name).NoOptDefVal = "true"
			continue
		}
		cmd.Flags().StringVar(value, name, "", doc)
		if !strings.Contains(takes, "<") {
			for _, of := range own {
				if of.flag == name {
					words = append(words, of.word)
				}
			}
			choice(cmd, name, words...)
		} else {
			ValueName(cmd, name, takes)
		}
	}
}

// ownWord is a value that a flag accepts in addition to those that the server knows.
type ownWord struct{ flag, word string }

// trueValue is a flag without a value that sets a parameter to "true".
type trueValue struct{ to *string }

func (v trueValue) String() string {
	if v.to == nil || *v.to == "" {
		return "false"
	}
	return *v.to
}

func (v trueValue) Set(text string) error {
	on, err := strconv.ParseBool(text)
	if *v.to = ""; on {
		*v.to = "true"
	}
	return err
}

func (trueValue) Type() string { return "bool" }
