package trunkline_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The comments of options are generated for all languages.
func TestOptionsAreDescribedInTheWordsOfGo(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "generated_options.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var (
		milliseconds = regexp.MustCompile(`\b\d+ ms\b`)
		zero         = regexp.MustCompile(`(^|; |\. |With )0[ ,]`)
		languages    = regexp.MustCompile(`\b(Rust|Python|Node\.js|Kotlin|Java|Ruby|Swift|cargo|crate|notebook)\b`)
		options      = regexp.MustCompile("\\b(option|function|error) `")
		snakeCase    = regexp.MustCompile("`[a-z]+(_[a-z]+)+`")
		// Words of OAuth.
		words = []string{"`private_key_jwt`", "`resource_name`", "`offline_access`", "`expires_at`"}
	)
	fields := 0
	ast.Inspect(file, func(node ast.Node) bool {
		field, isField := node.(*ast.Field)
		if !isField || field.Doc == nil || len(field.Names) == 0 {
			return true
		}
		fields++
		doc := strings.Join(strings.Fields(field.Doc.Text()), " ")
		selector, _ := field.Type.(*ast.SelectorExpr)
		isDuration := selector != nil && selector.Sel.Name == "Duration"
		number, _ := field.Type.(*ast.Ident)
		isNumber := isDuration || number != nil && number.Name == "int"
		for what, isWrong := range map[string]bool{
			"milliseconds of a time.Duration":    isDuration && milliseconds.MatchString(doc),
			"a 0 that is the default":            isNumber && zero.MatchString(doc) && !strings.Contains(doc, "The default is 0."),
			"another language":                   languages.MatchString(doc),
			"an option as other languages write": options.MatchString(doc),
			"a name that Go does not have": slices.ContainsFunc(snakeCase.FindAllString(doc, -1), func(name string) bool {
				return !slices.Contains(words, name)
			}),
		} {
			if isWrong {
				t.Errorf("%s: %s: %s", field.Names[0].Name, what, doc)
			}
		}
		return true
	})
	if fields < 150 {
		t.Error("fields are missing:", fields)
	}
}
