package imports

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var updateNotice = flag.Bool("update-notice", false, "write NOTICE")

// systems are those that the binary is built for.
var systems = []string{"darwin", "linux", "windows"}

// compatible are the licences whose code may be part of a product under Apache-2.0, recognised by words of their texts.
var compatible = []struct{ name, words string }{
	{"Apache-2.0", "Apache License Version 2.0, January 2004"},
	{"Apache-2.0", "Licensed under the Apache License, Version 2.0"},
	{"MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"MIT", "PERMISSION is hereby granted, free of charge, to any person obtaining a copy"},
	{"BSD-3-Clause", "Neither the name of"},
	{"BSD-3-Clause", "The name of any author may not be used to endorse"},
	{"BSD-2-Clause", "Redistribution and use in source and binary forms"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software for any purpose"},
	{"ISC", "Permission to use, copy, modify, and distribute this software for any purpose with or without fee"},
	{"CC0-1.0", "CC0 1.0 Universal"},
}

// NOTICE names every module that the binary links, with the licences of the linked packages. All of these licences are
// compatible with Apache-2.0.
func TestNoticeNamesLinkedModules(t *testing.T) {
	want := notice(linkedFiles(t))
	if *updateNotice {
		if err := os.WriteFile("../../../NOTICE", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile("../../../NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Errorf(
			"NOTICE does not say what is linked: run `go test ./internal/tools/imports -run Notice -update-notice`\n"+
				"%s", want[:strings.Index(want, "\n\n---")])
	}
	for module, files := range linkedFiles(t) {
		for _, file := range files {
			if file.licence == "" {
				t.Errorf("%s: %s is not one of the licences known to be compatible", module, file.path)
			}
		}
	}
	licence, err := os.ReadFile("../../../LICENSE")
	if err != nil || licenceOf(string(licence)) != "Apache-2.0" {
		t.Errorf("LICENSE is %q: %v", licenceOf(string(licence)), err)
	}
}

func TestOneOfTwoLicencesIsChosen(t *testing.T) {
	const bsd = "The name of any author may not be used to endorse\n"
	const gpl = "\n-----\nGPL v2.0:\n-----\nGNU GENERAL PUBLIC LICENSE\n"
	const choice = "SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only\n"
	const none = "SPDX-License-Identifier: GPL-2.0-only\n"
	if got := chosen(choice + bsd + gpl); licenceOf(got) != "BSD-3-Clause" {
		t.Errorf("the part that applies is %q", got)
	}
	if got := chosen(none + bsd + gpl); licenceOf(got) != "" {
		t.Errorf("without a choice, the part that applies is %q", got)
	}
}

func TestLicencesAreRecognised(t *testing.T) {
	for text, want := range map[string]string{
		"  Apache License\n  Version 2.0, January 2004\n":                                   "Apache-2.0",
		"Redistribution and use in source and binary forms ... Neither the name of x":       "BSD-3-Clause",
		"GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007":                               "",
		"GNU AFFERO GENERAL PUBLIC LICENSE":                                                 "",
		"Apache License Version 2.0, and parts under the GNU LESSER GENERAL PUBLIC LICENSE": "",
	} {
		if got := licenceOf(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// licenceFile is the text of a licence, with its path in the module and the licence's name.
type licenceFile struct{ path, licence, text string }

// linkedFiles returns the licence texts of the packages that the binary links, by module.
func linkedFiles(t *testing.T) map[string][]licenceFile {
	t.Helper()
	modules := map[string]map[string]licenceFile{}
	for _, system := range systems {
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=Dir,Module", "./cmd/maestro")
		list.Dir = "../../.."
		list.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		output, err := list.Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		for packages := json.NewDecoder(strings.NewReader(string(output))); ; {
			var p struct {
				Dir    string
				Module *struct {
					Path, Dir string
					Main      bool
				}
			}
			if err := packages.Decode(&p); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if p.Module == nil || p.Module.Main {
				continue
			}
			found := licenceAbove(t, p.Dir, p.Module.Dir)
			if len(found) == 0 {
				t.Errorf("%s has no licence", p.Module.Path)
			}
			if modules[p.Module.Path] == nil {
				modules[p.Module.Path] = map[string]licenceFile{}
			}
			for _, file := range found {
				modules[p.Module.Path][file.path] = file
			}
		}
	}
	files := map[string][]licenceFile{}
	for module, byPath := range modules {
		for _, path := range slices.Sorted(maps.Keys(byPath)) {
			files[module] = append(files[module], byPath[path])
		}
	}
	return files
}

// licenceAbove returns the licence of a package: the nearest one in its directory or above, up to the module's, and the
// notice beside it.
func licenceAbove(t *testing.T, dir, top string) (files []licenceFile) {
	t.Helper()
	for ; strings.HasPrefix(dir, top); dir = filepath.Dir(dir) {
		for _, pattern := range []string{"LICEN[CS]E*", "Licen[cs]e*", "COPYING*", "NOTICE*"} {
			found, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range found {
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				name, err := filepath.Rel(top, path)
				if err != nil {
					t.Fatal(err)
				}
				licence := licenceOf(chosen(string(text)))
				if strings.HasPrefix(filepath.Base(path), "NOTICE") {
					licence = "notice"
				}
				files = append(files, licenceFile{filepath.ToSlash(name), licence, chosen(string(text))})
			}
		}
		if len(files) > 0 {
			return files
		}
	}
	return nil
}

// chosen returns the part of a text that applies here. Some authors let their users choose between a licence that is
// compatible and one that is not.
func chosen(text string) string {
	const choice, other = "SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only", "\nGPL v2.0:\n"
	if before, _, found := strings.Cut(text, other); found && strings.Contains(text, choice) {
		return strings.TrimRight(before, "-\n") + "\n"
	}
	return text
}

// incompatible are words of licences that impose conditions on the product as a whole.
var incompatible = []string{
	"GNU GENERAL PUBLIC", "GNU AFFERO", "GNU LESSER", "Mozilla Public License", "Business Source",
}

// licenceOf returns the name of the licence whose text this is; "" for one that is not known to be compatible.
func licenceOf(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	var names []string
	if slices.ContainsFunc(incompatible, func(words string) bool { return strings.Contains(text, words) }) {
		return ""
	}
	for _, l := range compatible {
		known := slices.Contains(names, l.name) || l.name == "BSD-2-Clause" && slices.Contains(names, "BSD-3-Clause")
		if !known && strings.Contains(text, l.words) {
			names = append(names, l.name)
		}
	}
	return strings.Join(names, " and ")
}

// notice returns the text of NOTICE. The text of Apache-2.0 is in LICENSE; every other licence is included in full, as
// it requires.
func notice(modules map[string][]licenceFile) string {
	var b strings.Builder
	b.WriteString("Maestro\nCopyright 2026 The Maestro Authors\n\n" +
		"Licensed under the Apache License, Version 2.0 (LICENSE).\n\n" +
		"The binary contains the standard library of Go (BSD-3-Clause, the text of golang.org/x/sys below) and\n" +
		"these modules of others, under their own licences:\n\n")
	names := slices.Sorted(maps.Keys(modules))
	for _, module := range names {
		var licences []string
		for _, file := range modules[module] {
			if file.licence != "notice" && !slices.Contains(licences, file.licence) {
				licences = append(licences, file.licence)
			}
		}
		fmt.Fprintf(&b, "  %s (%s)\n", module, strings.Join(licences, ", "))
	}
	for _, module := range names {
		for _, file := range modules[module] {
			if file.licence != "Apache-2.0" {
				fmt.Fprintf(&b, "\n---\n%s, %s:\n\n%s\n", module, file.path, strings.Trim(file.text, "\r\n"))
			}
		}
	}
	return b.String()
}
