package gen

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"slices"
	"strings"
	"unicode"
)

// writer writes the proxies of one package.
type writer struct {
	*source
	body bytes.Buffer
}

// contract writes the contract and the constructor of the root's proxy.
func (w *writer) contract(out *bytes.Buffer) {
	out.WriteString("// Contract is what the interfaces of this package amount to, for callers.\nvar Contract = rpc.NewContract(\n")
	for _, name := range w.contracts {
		fmt.Fprintf(out, "rpc.Declare(func(p rpc.Proxy) %s { return %s{p} }),\n", name, proxyName(name))
	}
	root := w.contracts[0]
	fmt.Fprintf(out, ")\n\n// New%[1]s returns the root object of the host that conn calls.\n"+
		"func New%[1]s(conn *rpc.Conn) (%[1]s, error) {\np, err := rpc.Root[%[1]s](conn, Contract)\n"+
		"if err != nil {\nreturn nil, err\n}\nreturn %[2]s{p}, nil\n}\n", root, proxyName(root))
}

// proxyName returns the name of the type that implements the contract of this name.
func proxyName(contract string) string {
	r := []rune(contract)
	for i := range r {
		if !unicode.IsUpper(r[i]) || i > 0 && i+1 < len(r) && unicode.IsLower(r[i+1]) {
			break
		}
		r[i] = unicode.ToLower(r[i])
	}
	return string(r) + "Proxy"
}

func (w *writer) proxy(name string, d *declaration) error {
	fmt.Fprintf(&w.body, "\ntype %s struct{ rpc.Proxy }\n", proxyName(name))
	return w.methods(name, d)
}

// methods writes the methods of a declaration, those of embedded interfaces of the same package too.
func (w *writer) methods(name string, d *declaration) error {
	for _, f := range d.typ.Methods.List {
		switch t := f.Type.(type) {
		case *ast.FuncType:
			if err := w.method(name, f.Names[0].Name, t, d); err != nil {
				return err
			}
		case *ast.SelectorExpr:
			if x, ok := t.X.(*ast.Ident); !ok || d.imports[x.Name] != rpcPath || t.Sel.Name != "Remote" {
				return fmt.Errorf("gen: %s embeds %s, which is not of its package", name, w.text(t))
			}
		case *ast.Ident:
			inner := w.interfaces[t.Name]
			if inner == nil {
				return fmt.Errorf("gen: %s embeds %s, which is no interface of its package", name, t.Name)
			}
			if err := w.methods(name, inner); err != nil {
				return err
			}
		default:
			return fmt.Errorf("gen: %s has an element that is no method", name)
		}
	}
	return nil
}

// parameter is one parameter of a method.
type parameter struct{ name, typ string }

func (w *writer) method(contract, name string, t *ast.FuncType, d *declaration) error {
	params, ctx := w.parameters(t, d)
	var results []ast.Expr
	if t.Results != nil {
		for _, f := range t.Results.List {
			for range max(1, len(f.Names)) {
				results = append(results, f.Type)
			}
		}
	}
	var types []string
	for _, r := range results {
		w.need(r, d)
		types = append(types, w.text(r))
	}
	receiver := "x"
	for slices.ContainsFunc(params, func(p parameter) bool { return p.name == receiver }) {
		receiver += "x"
	}
	declared, given := "", ""
	for i, p := range params {
		if i > 0 {
			declared += ", "
		}
		declared += p.name + " " + p.typ
		if i > 0 || ctx == "" {
			given += ", " + p.name
		}
	}
	result := strings.Join(types, ", ")
	if len(types) > 1 {
		result = "(" + result + ")"
	}
	call, err := w.call(contract, name, receiver, ctx, given, params, results)
	if err != nil {
		return err
	}
	fmt.Fprintf(&w.body, "\nfunc (%s %s) %s(%s) %s {\n\treturn %s\n}\n", receiver, proxyName(contract), name, declared, result, call)
	return nil
}

// call returns the expression that a method returns.
func (w *writer) call(contract, name, receiver, ctx, given string, params []parameter, results []ast.Expr) (string, error) {
	proxy := receiver + ".Proxy"
	if len(results) == 1 && slices.Contains(w.contracts, w.text(results[0])) {
		keys := ""
		for _, p := range params {
			keys += fmt.Sprintf(", %q, %s", p.name, p.name)
		}
		return fmt.Sprintf("%s{%s.Select(%q%s)}", proxyName(w.text(results[0])), proxy, name, keys), nil
	}
	if len(results) == 0 || len(results) > 2 || w.text(results[len(results)-1]) != "error" {
		return "", fmt.Errorf("gen: %s.%s wants to return an error, a result and an error, or a contract", contract, name)
	}
	if ctx == "" {
		ctx = "context.Background()"
		w.imports["context"] = "context"
	}
	if len(results) == 1 {
		return fmt.Sprintf("rpc.Do(%s, %s, %q%s)", ctx, proxy, name, given), nil
	}
	if star, ok := results[0].(*ast.StarExpr); ok {
		if index, ok := star.X.(*ast.IndexListExpr); ok && w.text(index.X) == "rpc.Subscription" {
			return fmt.Sprintf("rpc.Subscribe[%s, %s](%s, %s, %q%s)",
				w.text(index.Indices[0]), w.text(index.Indices[1]), ctx, proxy, name, given), nil
		}
	}
	return fmt.Sprintf("rpc.Invoke[%s](%s, %s, %q%s)", w.text(results[0]), ctx, proxy, name, given), nil
}

// parameters returns the parameters with names, and the name of the leading context, "" if there is none.
func (w *writer) parameters(t *ast.FuncType, d *declaration) (params []parameter, ctx string) {
	for _, f := range t.Params.List {
		w.need(f.Type, d)
		names := f.Names
		if len(names) == 0 {
			names = []*ast.Ident{{Name: "_"}}
		}
		for _, n := range names {
			name, typ := n.Name, w.text(f.Type)
			if name == "_" {
				name = fmt.Sprintf("a%d", len(params))
			}
			if len(params) == 0 && typ == "context.Context" {
				ctx = name
			}
			params = append(params, parameter{name, typ})
		}
	}
	return params, ctx
}

// need notes the imports that a type takes.
func (w *writer) need(t ast.Expr, d *declaration) {
	ast.Inspect(t, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && d.imports[x.Name] != "" {
				w.imports[x.Name] = d.imports[x.Name]
			}
		}
		return true
	})
}

func (w *writer) text(e ast.Expr) string {
	var out bytes.Buffer
	printer.Fprint(&out, token.NewFileSet(), e) // a buffer takes everything
	return out.String()
}
