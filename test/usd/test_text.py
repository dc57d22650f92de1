"""Text layers are read as OpenUSD reads them: what one refuses the other refuses, and what both read is the same.

The example `encode_layers` writes the layers that it reads in the binary encoding, which OpenUSD compares with what it reads of the
text itself. It stands beside the program that is tested.
"""

import random
import re
import subprocess

import pytest

import conftest
from conftest import PROGRAM, ROOT, run

Sdf = pytest.importorskip("pxr.Sdf")
Plug = pytest.importorskip("pxr.Plug")
Tf = pytest.importorskip("pxr.Tf")

ENCODE = PROGRAM.parent / "examples" / "encode_layers"

#: Layers by what they try. Whether they are read is OpenUSD's decision.
LAYERS = {
    "oneline_two_attrs": '#usda 1.0\ndef "a" { float a = 1; float b = 2\n}\n',
    "oneline_nosep": '#usda 1.0\ndef "a" { float a = 1 float b = 2\n}\n',
    "attr_then_close": '#usda 1.0\ndef "a" { float a = 1\n}\n',
    "two_prims_line": '#usda 1.0\ndef "a" {} def "b" {}\n',
    "prim_semicolon": '#usda 1.0\ndef "a" {}; def "b" {}\n',
    "child_no_nl": '#usda 1.0\ndef "a" { def "b" {}\n}\n',
    "child_child_line": '#usda 1.0\ndef "a" { def "b" {} def "c" {}\n}\n',
    "eq_newline": '#usda 1.0\ndef "a" { float a =\n 1\n}\n',
    "type_newline": '#usda 1.0\ndef "a" { float\n a = 1\n}\n',
    "name_newline": '#usda 1.0\ndef\n "a" {}\n',
    "brace_newline": '#usda 1.0\ndef "a"\n\n{\n}\n',
    "paren_newline": '#usda 1.0\ndef "a"\n(\n)\n{\n}\n',
    "attrmeta_newline": '#usda 1.0\ndef "a" { float a = 1 (\n doc = "x"\n)\n}\n',
    "attrmeta_nextline": '#usda 1.0\ndef "a" { float a = 1\n(\n doc = "x"\n)\n}\n',
    "meta_sep_semi": '#usda 1.0\ndef "a" (doc = "x"; kind = "y") {}\n',
    "meta_sep_comma": '#usda 1.0\ndef "a" (doc = "x", kind = "y") {}\n',
    "meta_nosep": '#usda 1.0\ndef "a" (doc = "x" kind = "y") {}\n',
    "list_trailing_comma": '#usda 1.0\ndef "a" { int[] a = [1,2,]\n}\n',
    "list_newline_sep": '#usda 1.0\ndef "a" { int[] a = [1\n,2\n]\n}\n',
    "list_nocomma": '#usda 1.0\ndef "a" { int[] a = [1 2]\n}\n',
    "list_nlonly": '#usda 1.0\ndef "a" { int[] a = [1\n2]\n}\n',
    "list_semicolon": '#usda 1.0\ndef "a" { int[] a = [1;2]\n}\n',
    "nested_list": '#usda 1.0\ndef "a" { int[] a = [[1,2],[3,4]]\n}\n',
    "tuple_trailing": '#usda 1.0\ndef "a" { float3 a = (1,2,3,)\n}\n',
    "tuple_flat_matrix": '#usda 1.0\ndef "a" { matrix2d a = (1,2,3,4)\n}\n',
    "tuple_extra_paren": '#usda 1.0\ndef "a" { float3 a = ((1,2,3))\n}\n',
    "tuple_nl": '#usda 1.0\ndef "a" { float3 a = (1,\n2,\n3)\n}\n',
    "plus": '#usda 1.0\ndef "a" { float a = +5\n}\n',
    "plus_in_exp": '#usda 1.0\ndef "a" { float a = 5e+2\n}\n',
    "minus_space": '#usda 1.0\ndef "a" { float a = - 5\n}\n',
    "int_from_double": '#usda 1.0\ndef "a" { int a = 5.0\n}\n',
    "int_from_frac": '#usda 1.0\ndef "a" { int a = 5.7\n}\n',
    "int_overflow": '#usda 1.0\ndef "a" { int a = 5000000000\n}\n',
    "uint_neg": '#usda 1.0\ndef "a" { uint a = -1\n}\n',
    "uchar_300": '#usda 1.0\ndef "a" { uchar a = 300\n}\n',
    "nan": '#usda 1.0\ndef "a" { float a = nan\n}\n',
    "neg_nan": '#usda 1.0\ndef "a" { float a = -nan\n}\n',
    "inf_str": '#usda 1.0\ndef "a" { float a = "inf"\n}\n',
    "Inf": '#usda 1.0\ndef "a" { float a = Inf\n}\n',
    "token_ident": '#usda 1.0\ndef "a" { token a = foo\n}\n',
    "string_ident": '#usda 1.0\ndef "a" { string a = foo\n}\n',
    "asset_string": '#usda 1.0\ndef "a" { asset a = "foo"\n}\n',
    "bool_2": '#usda 1.0\ndef "a" { bool a = 2\n}\n',
    "bool_on": '#usda 1.0\ndef "a" { bool a = on\n}\n',
    "bool_float": '#usda 1.0\ndef "a" { bool a = 0.5\n}\n',
    "empty_list_scalar": '#usda 1.0\ndef "a" { int a = []\n}\n',
    "scalar_for_list": '#usda 1.0\ndef "a" { int[] a = 1\n}\n',
    "None": '#usda 1.0\ndef "a" { int[] a = None\n}\n',
    "unknown_type": '#usda 1.0\ndef "a" { foo a = bar\n}\n',
    "unknown_type_list": '#usda 1.0\ndef "a" { foo[] a = [1, (2,3), "x"]\n}\n',
    "unknown_type_dict": '#usda 1.0\ndef "a" { foo a = {int b = 1}\n}\n',
    "dup_prim": '#usda 1.0\ndef "a" {}\ndef "a" {}\n',
    "dup_attr": '#usda 1.0\ndef "a" { float a = 1\n float a = 2\n}\n',
    "dup_attr_type": '#usda 1.0\ndef "a" { float a = 1\n double a = 2\n}\n',
    "var_dup": "OpenUSD lists a variant that comes twice twice",
    "attr_then_rel": '#usda 1.0\ndef "a" { float a = 1\n rel a = </b>\n}\n',
    "bad_name": '#usda 1.0\ndef "a-b" {}\n',
    "digit_name": '#usda 1.0\ndef "1a" {}\n',
    "keyword_attr": '#usda 1.0\ndef "a" { float def = 1\n}\n',
    "keyword_type_prim": '#usda 1.0\ndef rel "a" {\n}\n',
    "dotted_type": '#usda 1.0\ndef Foo.Bar "a" {\n}\n',
    "attr_dot_name": '#usda 1.0\ndef "a" { float a.b = 1\n}\n',
    "ns_attr": '#usda 1.0\ndef "a" { float a:b:c = 1\n}\n',
    "ns_digit": '#usda 1.0\ndef "a" { float a:1b = 1\n}\n',
    "ns_trail": '#usda 1.0\ndef "a" { float a: = 1\n}\n',
    "ns_cxx": '#usda 1.0\ndef "a" { float a::b = 1\n}\n',
    "meta_ns": '#usda 1.0\ndef "a" (a:b = 1) {\n}\n',
    "meta_cxx": '#usda 1.0\ndef "a" (a::b = 1) {\n}\n',
    "varying": '#usda 1.0\ndef "a" { varying float a = 1\n}\n',
    "config": '#usda 1.0\ndef "a" { config float a = 1\n}\n',
    "custom_uniform": '#usda 1.0\ndef "a" { custom uniform float a = 1\n}\n',
    "uniform_custom": '#usda 1.0\ndef "a" { uniform custom float a = 1\n}\n',
    "uniform_rel": '#usda 1.0\ndef "a" { uniform rel a\n}\n',
    "rel_default": '#usda 1.0\ndef "a" { rel a.default = </b>\n}\n',
    "rel_ts": '#usda 1.0\ndef "a" { rel a.timeSamples = { 1: </b> }\n}\n',
    "rel_none": '#usda 1.0\ndef "a" { rel a = None\n}\n',
    "rel_empty": '#usda 1.0\ndef "a" { rel a = []\n}\n',
    "rel_add_empty": '#usda 1.0\ndef "a" { add rel a = []\n}\n',
    "rel_rhs_op": '#usda 1.0\ndef "a" { rel a = prepend </b>\n}\n',
    "rel_bracket": '#usda 1.0\ndef "a" { rel a[</b>]\n}\n',
    "reorder_rel": '#usda 1.0\ndef "a" { reorder rel a = [</b>, </c>]\n}\n',
    "reorder_attr": '#usda 1.0\ndef "a" { reorder float a.connect = [</b.x>]\n}\n',
    "rel_reltarget_dotdot": '#usda 1.0\ndef "a" { rel a = <../b>\n}\n',
    "rel_toomany": '#usda 1.0\ndef "a" { rel a = <../../../b>\n}\n',
    "rel_bad": '#usda 1.0\ndef "a" { rel a = <b c>\n}\n',
    "rel_self": '#usda 1.0\ndef "a" { rel a = <.b>\n}\n',
    "conn_meta": '#usda 1.0\ndef "a" { float a.connect = </b.x> (doc = "x")\n}\n',
    "conn_prim": '#usda 1.0\ndef "a" { float a.connect = </b>\n}\n',
    "ts": '#usda 1.0\ndef "a" { float a.timeSamples = { .5: 1, 1.: 2, -1: None, }\n}\n',
    "ts_nl": '#usda 1.0\ndef "a" { float a.timeSamples = {\n 0: 1\n 1: 2\n}\n}\n',
    "ts_inf": '#usda 1.0\ndef "a" { float a.timeSamples = { inf: 1 }\n}\n',
    "ts_dup": '#usda 1.0\ndef "a" { float a.timeSamples = { 1: 1, 1: 2 }\n}\n',
    "triple_str": '#usda 1.0\ndef "a" { string a = """x\ny"""\n}\n',
    "str_newline": '#usda 1.0\ndef "a" { string a = "x\ny"\n}\n',
    "str_esc": '#usda 1.0\ndef "a" { string a = "x\\n\\x41\\101\\q"\n}\n',
    "str_empty": '#usda 1.0\ndef "a" { string a = \'\'; string b = ""; string c = """"""\n}\n',
    "str_adjacent": '#usda 1.0\ndef "a" { string a = "x" "y"\n}\n',
    "asset_tri": '#usda 1.0\ndef "a" { asset a = @@@x@y\\@@@z@@@\n}\n',
    "asset_nl": '#usda 1.0\ndef "a" { asset a = @x\ny@\n}\n',
    "dict": '#usda 1.0\ndef "a" (customData = { int a = 1\n string "b c" = "x"; dictionary d = { } }) {\n}\n',
    "dict_comma": '#usda 1.0\ndef "a" (customData = { int a = 1, int b = 2 }) {\n}\n',
    "dict_line": '#usda 1.0\ndef "a" (customData = { int a = 1 int b = 2 }) {\n}\n',
    "dict_nskey": '#usda 1.0\ndef "a" (customData = { int a:b = 1 }) {\n}\n',
    "dict_kwkey": '#usda 1.0\ndef "a" (customData = { int def = 1 }) {\n}\n',
    "dict_none": '#usda 1.0\ndef "a" (customData = { int def = None }) {\n}\n',
    "dict_unknown_type": '#usda 1.0\ndef "a" (customData = { foo b = 1 }) {\n}\n',
    "dict_token_meta": '#usda 1.0\ndef "a" (customData = 5) {\n}\n',
    "unk_meta": '#usda 1.0\ndef "a" (foo = 5) {\n}\n',
    "unk_meta_list": '#usda 1.0\ndef "a" (prepend foo = [1,"x",(1,2)]) {\n}\n',
    "unk_meta_dict": '#usda 1.0\ndef "a" (foo = {int a = 1}) {\n}\n',
    "unk_meta_ident": '#usda 1.0\ndef "a" (foo = bar) {\n}\n',
    "hidden_str": '#usda 1.0\ndef "a" (hidden = "yes") {\n}\n',
    "active_yes": '#usda 1.0\ndef "a" (active = no) {\n}\n',
    "kind_ident": '#usda 1.0\ndef "a" (kind = component) {\n}\n',
    "doc_docname": '#usda 1.0\ndef "a" (documentation = "x") {\n}\n',
    "add_kind": '#usda 1.0\ndef "a" (add kind = "x") {\n}\n',
    "apiSchemas": '#usda 1.0\ndef "a" (apiSchemas = "X") {\n}\n',
    "apiSchemas_list": '#usda 1.0\ndef "a" (prepend apiSchemas = ["X"]) {\n}\n',
    "apiSchemas_empty": '#usda 1.0\ndef "a" (prepend apiSchemas = []) {\n}\n',
    "apiSchemas_none": '#usda 1.0\ndef "a" (prepend apiSchemas = None) {\n}\n',
    "apiSchemas_twice": '#usda 1.0\ndef "a" (prepend apiSchemas = ["X"]\n prepend apiSchemas = ["Y"]) {\n}\n',
    "del_pre": '#usda 1.0\ndef "a" (delete apiSchemas = ["X"]\n prepend apiSchemas = ["Y"]) {\n}\n',
    "ref_empty": '#usda 1.0\ndef "a" (references = @@) {\n}\n',
    "ref_var": '#usda 1.0\ndef "a" (references = @x@</a{b=c}>) {\n}\n',
    "ref_rel": '#usda 1.0\ndef "a" (references = <b>) {\n}\n',
    "ref_prop": '#usda 1.0\ndef "a" (references = </b.c>) {\n}\n',
    "ref_root": '#usda 1.0\ndef "a" (references = </>) {\n}\n',
    "ref_off": '#usda 1.0\ndef "a" (references = @x@ (offset = 1; scale = 2)) {\n}\n',
    "ref_offn": '#usda 1.0\ndef "a" (references = @x@ (offset = .5\n scale = -1)) {\n}\n',
    "ref_pre_none": '#usda 1.0\ndef "a" (prepend references = None) {\n}\n',
    "ref_pre_empty": '#usda 1.0\ndef "a" (prepend references = []) {\n}\n',
    "payload_custom": '#usda 1.0\ndef "a" (payload = @x@ (customData = {})) {\n}\n',
    "inh_var": '#usda 1.0\ndef "a" (inherits = </a{b=c}>) {\n}\n',
    "inh_rel": '#usda 1.0\ndef "a" (inherits = <../b>) {\n}\n',
    "var": '#usda 1.0\ndef "a" (variants = { string x = "y" }\n prepend variantSets = "x") { variantSet "x" = { "y" { } }\n}\n',
    "var_nobody": '#usda 1.0\ndef "a" { variantSet "x" = { }\n}\n',
    "var_meta": '#usda 1.0\ndef "a" { variantSet "x" = { "y" (doc = "q") { float a = 1 } "z" {} }\n}\n',
    "var_dup": '#usda 1.0\ndef "a" { variantSet "x" = { "y" {} "y" {} }\n}\n',
    "var_set_dup": '#usda 1.0\ndef "a" { variantSet "x" = { "y" {} }\n variantSet "x" = { "z" {} }\n}\n',
    "var_name": '#usda 1.0\ndef "a" { variantSet "x" = { "y.-|1" {} }\n}\n',
    "var_bad": '#usda 1.0\ndef "a" { variantSet "x" = { "y z" {} }\n}\n',
    "var_after": '#usda 1.0\ndef "a" { variantSet "x" = { "y" {} } float a = 1\n}\n',
    "reloc": '#usda 1.0\n(\n relocates = { </a>: </b>, }\n)\n',
    "reorder_root": '#usda 1.0\nreorder rootPrims = ["a"]\ndef "a" {}\n',
    "reorder_root_one": '#usda 1.0\nreorder rootPrims = "a"\ndef "a" {}\n',
    "sublayers": '#usda 1.0\n(\n subLayers = [@a@ (offset = 1), @b@]\n)\n',
    "sublayers_one": '#usda 1.0\n(\n subLayers = @a@\n)\n',
    "comment_before_magic": '# x\n#usda 1.0\n',
    "nl_before": '\n#usda 1.0\n',
    "magic_trail": '#usda 1.0 is it\n',
    "magic_13": '#usda 1.3\n',
    "magic_20": '#usda 2.0\n',
    "magic_09": '#usda 0.9\n',
    "magic_1": '#usda 1\n',
    "magic_sdf": '#sdf 1.4.32\n',
    "magic_usd": '#usd 1.0\n',
    "magic_12": '#usda 1.2\n',
    "magic_103": '#usda 1.0.3\n',
    "bom": '\ufeff#usda 1.0\n',
    "crlf": '#usda 1.0\r\ndef "a"\r\n{\r\n float a = 1\r\n}\r\n',
    "cr": '#usda 1.0\rdef "a"\r{\r}\r',
    "formfeed": '#usda 1.0\ndef "a"\x0c{\n}\n',
    "vtab": '#usda 1.0\ndef "a"\x0b{\n}\n',
    "nbsp": '#usda 1.0\ndef "a"\xa0{\n}\n',
    "slash_comment": '#usda 1.0\n// x\ndef "a" { float a = 1 // y\n}\n',
    "block": '#usda 1.0\ndef "a" { float a = /* x */ 1\n}\n',
    "block_nl": '#usda 1.0\ndef "a" { float a = 1 /* x \n */ float b = 2\n}\n',
    "blocks_blank": '#usda 1.0\ndef Xform/*a*/  /*b*/"a" {\n}\n',
    "blocks_tab": '#usda 1.0\ndef Xform/*a*/\t/*b*/"a" {\n}\n',
    "blocks_touch": '#usda 1.0\ndef Xform/*a*//*b*/"a" {\n}\n',
    "block_unclosed": '#usda 1.0\ndef "a" { } /* x',
    "hash_in_list": '#usda 1.0\ndef "a" { int[] a = [1, # x\n 2]\n}\n',
    "no_eol": '#usda 1.0\ndef "a" {\n}\n',
    "hash_end": '#usda 1.0\ndef "a" { } # foo',
    "attr_unicode": '#usda 1.0\ndef "a" { float größe = 1\n}\n',
    "type_unicode": '#usda 1.0\ndef größe "a" {\n}\n',
    "emoji": '#usda 1.0\ndef "a" { float 😀 = 1\n}\n',
    "prim_uni": '#usda 1.0\ndef "größe" {\n}\n',
    "defprim": '#usda 1.0\n(\n defaultPrim = "a/b"\n)\n',
    "defprim_bad": '#usda 1.0\n(\n defaultPrim = "1 2"\n)\n',
    "layer_unk": '#usda 1.0\n(\n foo = 1\n)\n',
    "layer_kind": '#usda 1.0\n(\n kind = "x"\n)\n',
    "layer_active": '#usda 1.0\n(\n active = true\n)\n',
    "mpu": '#usda 1.0\n(\n metersPerUnit = .01\n)\n',
    "mpu_str": '#usda 1.0\n(\n metersPerUnit = "x"\n)\n',
    "upaxis_ident": '#usda 1.0\n(\n upAxis = Z\n)\n',
    "attr_interp": '#usda 1.0\ndef "a" { float a = 1 (interpolation = "vertex")\n}\n',
    "attr_colorspace": '#usda 1.0\ndef "a" { float a = 1 (colorSpace = "x")\n}\n',
    "attr_cs_ident": '#usda 1.0\ndef "a" { float a = 1 (colorSpace = x)\n}\n',
    "attr_unit": '#usda 1.0\ndef "a" { float a = 1 (displayUnit = mm)\n}\n',
    "attr_unit_bad": '#usda 1.0\ndef "a" { float a = 1 (displayUnit = foo)\n}\n',
    "allowed": '#usda 1.0\ndef "a" { token a = "x" (allowedTokens = ["x","y"])\n}\n',
    "limits": '#usda 1.0\ndef "a" { int a = 1 (limits = { dictionary soft = { int minimum = 1 } })\n}\n',
    "arrsize": '#usda 1.0\ndef "a" { int[] a = [1] (arraySizeConstraint = 3)\n}\n',
    "elementSize_d": '#usda 1.0\ndef "a" { float[] a = [1] (elementSize = 2.0)\n}\n',
    "prim_interp": '#usda 1.0\ndef "a" (interpolation = "vertex") {\n}\n',
    "attr_kind": '#usda 1.0\ndef "a" { float a (kind = "x")\n}\n',
    "symfn": '#usda 1.0\ndef "a" (symmetryFunction = ) {\n}\n',
    "prefixsub": '#usda 1.0\ndef "a" (prefixSubstitutions = { "a": "b" }) {\n}\n',
    "perm": '#usda 1.0\ndef "a" (permission = private) {\n}\n',
    "instanceable_1": '#usda 1.0\ndef "a" (instanceable = 1) {\n}\n',
    "edit": '#usda 1.0\ndef "a" { int[] a = edit [ append 3 ]\n}\n',
    "edit2": '#usda 1.0\ndef "a" { int[] a = edit [ write 3 to [0]; insert 2 at [1]; erase [0]; minsize 3; append [2] ]\n}\n',
    "spline": '#usda 1.0\ndef "a" { double a.spline = { bezier, 1: 2; post held, }\n}\n',
    "attr_pathref": '#usda 1.0\ndef "a" { foo a = </b>\n}\n',
    "ts_block": '#usda 1.0\ndef "a" { float a.timeSamples = { 1: None }\n}\n',
    "anim": '#usda 1.0\ndef "a" { float a = AnimationBlock\n}\n',
    "attr_no_value_conn": '#usda 1.0\ndef "a" { float a.connect\n}\n',
    "attr_default_suffix": '#usda 1.0\ndef "a" { float a.default = 1\n}\n',
    "prepend_attr_noconn": '#usda 1.0\ndef "a" { prepend float a = 1\n}\n',
    "empty": '#usda 1.0\n',
    "only_paren": '#usda 1.0\n()\n',
    "paren_prim_line": '#usda 1.0\n()def "a" {}\n',
    "paren_line": '#usda 1.0 ()\n',
    "semi_extra": '#usda 1.0\ndef "a" { float a = 1;; float b = 2\n}\n',
    "semi_nl": '#usda 1.0\ndef "a" { float a = 1;\n float b = 2;\n\n}\n',
    "semi_lead": '#usda 1.0\ndef "a" { ; float a = 1\n}\n',
    "meta_lead_semi": '#usda 1.0\ndef "a" (; doc = "x") {}\n',
    "meta_trail": '#usda 1.0\ndef "a" (doc = "x";) {}\n',
    "ns_type": '#usda 1.0\ndef "a" { a:b c = 1\n}\n',
    "list_of_tuples": '#usda 1.0\ndef "a" { float2[] a = [(1,2), (3,4)]\n}\n',
    "list_flat_tuples": '#usda 1.0\ndef "a" { float2[] a = [1,2,3,4]\n}\n',
    "half_range": '#usda 1.0\ndef "a" { half a = 1e9\n}\n',
    "float_range": '#usda 1.0\ndef "a" { float a = 1e60\n}\n',
    "timecode": '#usda 1.0\ndef "a" { timecode a = 1.5\n}\n',
    "pathexpr": '#usda 1.0\ndef "a" { pathExpression a = "//"\n}\n',
    "opaque": '#usda 1.0\ndef "a" { opaque a\n}\n',
    "opaque_v": '#usda 1.0\ndef "a" { opaque a = 1\n}\n',
    "neg0": '#usda 1.0\ndef "a" { float a = -0; int b = -0\n}\n',
    "big_uint64": '#usda 1.0\ndef "a" { uint64 a = 18446744073709551615; int64 b = -9223372036854775808\n}\n',
    "bigint_float": '#usda 1.0\ndef "a" { float a = 99999999999999999999999\n}\n',
    "lead0": '#usda 1.0\ndef "a" { int a = 007\n}\n',
    "hex": '#usda 1.0\ndef "a" { int a = 0x10\n}\n',
    "number_ident": '#usda 1.0\ndef "a" { int a = 1a\n}\n',
    "nul": '#usda 1.0\ndef "a" { string a = "x\x00y"\n}\n',
    "ctrl": '#usda 1.0\ndef "a" { string a = "x\x01y"\n}\n',
    "bytes_latin": b'#usda 1.0\ndef "a" { string a = "x\xffy" }\n',
}

#: Layers that OpenUSD reads with a loss of its own, or that `openusd` can't represent.
DIFFERENT = {
    "var_dup": "OpenUSD lists a variant that comes twice twice",
    "attr_then_rel": "OpenUSD keeps the targets in the attribute",
    "attr_pathref": "OpenUSD prints a path value that it can't read again",
    "attr_unit": "`openusd` writes a unit as a token",
    "pathexpr": "`openusd` drops the expression that matches everything",
    "nul": "OpenUSD prints a string only up to a zero byte",
    "spline": "splines are kept as text",
    "edit": "array edits are kept as text",
    "edit2": "array edits are kept as text",
    "anim": "a blocked animation is no value",
    "rel_default": "the default of a relationship is not kept",
}


def theirs(path):
    """What OpenUSD reads of a text layer; None if it refuses it."""
    try:
        layer = Sdf.Layer.OpenAsAnonymous(str(path))
        return layer and exported(layer)
    except (Tf.ErrorException, UnicodeDecodeError):
        return None


def exported(layer):
    """The layer as text, without its first line and the token that `encode` puts first."""
    return re.sub(r"^ *;-\) = .*\n", "", layer.ExportToString().partition("\n")[2], flags=re.MULTILINE).replace("(\n)\n", "")


def ours(paths, folder):
    """What is read of text layers here, by OpenUSD from the binary encoding; the error where one is refused."""
    outputs = [folder / f"{index}.usdc" for index in range(len(paths))]
    lines = "".join(f"{path}\t{output}\n" for path, output in zip(paths, outputs, strict=True))
    done = subprocess.run([ENCODE], input=lines.encode(), capture_output=True, check=True)
    errors = done.stdout.decode().split("\n")[:-1]
    assert len(errors) == len(paths)
    return [(None, error) if error else (encoded(output), "") for output, error in zip(outputs, errors, strict=True)]


def encoded(path):
    """What OpenUSD reads of a binary layer, or why it can't."""
    try:
        return exported(Sdf.Layer.OpenAsAnonymous(str(path)))
    except Tf.ErrorException as error:
        return str(error)


def written(texts, folder):
    paths = []
    for index, text in enumerate(texts):
        paths.append(folder / f"{index}.usda")
        paths[-1].write_bytes(text if isinstance(text, bytes) else text.encode())
    return paths


def compare(paths, folder, names=None):
    """Asserts that both read, or both refuse, each layer."""
    wrong = []
    for path, name, (read, error) in zip(paths, names or paths, ours(paths, folder), strict=True):
        expected = theirs(path)
        if (expected is None) != (read is None):
            wrong.append(f"{name}: {'refused only here: ' + error if read is None else 'refused only by OpenUSD'}\n{path.read_bytes()[:400]}")
        elif expected != read and name not in DIFFERENT:
            wrong.append(f"{name}: OpenUSD reads\n{expected}\nhere\n{read}")
    assert not wrong, "\n\n".join(wrong[:20]) + f"\n{len(wrong)} of {len(paths)}"


def test_what_openusd_reads_is_read_and_nothing_else(tmp_path):
    compare(written(LAYERS.values(), tmp_path), tmp_path, list(LAYERS))


def layers_at_hand():
    """The schemas that come with OpenUSD, and the layers of this repository."""
    plugins = {plugin.resourcePath for plugin in Plug.Registry().GetAllPlugins()}
    schemas = [file for folder in plugins for file in conftest.Path(folder).glob("*.usda")]
    return sorted(schemas) + sorted(file for part in ("crates", "test", "examples", "schema", "docs") for file in (ROOT / part).rglob("*.usda"))


def test_layers_of_others_and_our_own_are_read_alike(tmp_path):
    layers = layers_at_hand()
    assert len(layers) > 60
    compare(layers, tmp_path)


TOKEN = re.compile(r'"[^"\n]*"|@[^@\n]*@|<[^>\n]*>|[\w:]+|\s|.')


def test_damaged_layers_are_refused_alike(tmp_path):
    """Tokens of layers go, come twice, change places, or make room for others."""
    choose = random.Random(7)
    # The text of a value of an unknown type, and a lone carriage return, are read with small differences.
    sources = [text for name, text in LAYERS.items() if isinstance(text, str) and "\r" not in text and "foo" not in text and name not in DIFFERENT]
    others = ["\n", ";", ",", "(", ")", "[", "]", "{", "}", "=", "1", "-1", ".5", '"a"', "@a@", "</a>", "None", "def", "rel", "a:b", "//", "#"]
    texts = []
    for _ in range(4000):
        tokens = TOKEN.findall(choose.choice(sources).partition("\n")[2])
        for _ in range(choose.randint(1, 2)):
            at = choose.randrange(len(tokens) + 1)
            match choose.randrange(4):
                case 0:
                    tokens[at : at + 1] = []
                case 1:
                    tokens[at:at] = [f" {choose.choice(others)} "]
                case 2:
                    tokens[at : at + 1] = [f" {choose.choice(others)} "]
                case _:
                    tokens[at:at] = [f" {token} " for token in tokens[at : at + 1]]
        texts.append("#usda 1.0\n" + "".join(tokens))
    compare(written(texts, tmp_path), tmp_path, list(map(str, range(len(texts)))))


#: Layers of which OpenUSD reads more than `openusd` can represent: only whether they are read is compared.
SOURCES = [
    'def "a" { double a.spline = { bezier, pre: held, post: loop repeat, 1: 5; post curve (1, 2), 2: 5 & 6; pre (1, 2); post held, 3: 7; { string x = "y" } }\n}\n',
    'def "a" { float a.spline = { hermite, pre: sloped (2), 1: 2; post linear, 3: 4; pre (5, autoEase)\n post none, }\n}\n',
    'def "a" { int[] a = edit [ write 3 to [0]; insert [2] at [-1]; erase [0]; minsize 3 fill 2; append [2]\n prepend 3; resize 4; maxsize 3 ]\n}\n',
    'def "a" { float3[] a.timeSamples = { 1: edit [ append (1, 2, 3) ], 2: [(1, 2, 3)] }\n foo b = </b.c>\n}\n',
    'def "a" { rel r = [</a/b.c>, <../d>, </a.r[/t].x>, </e>]\n prepend rel s = </a/b>\n float a.connect = </b.x>\n add float b.connect = [</c.x:y>, <.z>]\n}\n',
    'def "a" (\n references = [@x.usda@</b>, </c>]\n inherits = [</e>, <../f>]\n specializes = </g/h>\n) {\n variantSet "v" = { "w" { rel r = </a.b>\n } }\n}\n',
]


def test_damaged_splines_edits_and_paths_are_refused_alike(tmp_path):
    choose = random.Random(11)
    others = [";", ",", "(", ")", "[", "]", "{", "}", "1", "-1", ".5", "&", "held", "loop", "fill", "to", "None", "</a.b.c>", "</a{v=w}>", "</a.r[/t]>", "<.>"]
    texts = ["#usda 1.0\n" + text for text in SOURCES]
    for _ in range(1500):
        tokens = TOKEN.findall(choose.choice(SOURCES))
        at = choose.randrange(len(tokens))
        path = [index for index, token in enumerate(tokens) if token.startswith("<")]
        match choose.randrange(4):
            case 0:
                tokens[at : at + 1] = []
            case 1:
                tokens[at:at] = [f" {choose.choice(others)} "]
            case 2 if path:
                at = choose.choice(path)
                cut = choose.randrange(1, len(tokens[at]))
                tokens[at] = tokens[at][:cut] + choose.choice("/.{}[]a1 :") + tokens[at][cut:]
            case _:
                tokens[at : at + 1] = [f" {choose.choice(others)} "]
        texts.append("#usda 1.0\n" + "".join(tokens))
    paths = written(texts, tmp_path)
    read = [(theirs(path) is not None, not error) for path, (_, error) in zip(paths, ours(paths, tmp_path), strict=True)]
    assert all(expected for expected, _ in read[: len(SOURCES)])
    wrong = [text for text, (expected, here) in zip(texts, read, strict=True) if expected != here]
    assert not wrong, "\n".join(wrong[:20]) + f"\n{len(wrong)} of {len(texts)}"


ROBOT = """<robot name="r">
  <link name="base" größe="gross"/><link name="arm"/>
  <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="3" velocity="2"/><dynamics damping="0.7"/></joint>
</robot>"""


def test_names_beyond_ascii_come_back(tmp_path):
    """The name of a custom attribute becomes part of a property's name."""
    source = tmp_path / "r.urdf"
    source.write_text(ROBOT)
    assert run("convert", source, "-o", tmp_path / "asset").returncode == 0
    entry = tmp_path / "asset" / "r" / "r.usda"
    assert "größe" in (entry.parent / "urdf.usda").read_text() and theirs(entry.parent / "urdf.usda")
    done = run("check", entry)
    assert done.returncode == 0, done.stdout + done.stderr
    assert run("convert", entry, "-o", tmp_path / "back", "--formats", "urdf").returncode == 0
    back = (tmp_path / "back" / "r" / "r.urdf").read_text()
    assert all(words in back for words in ('größe="gross"', 'effort="3" velocity="2"', 'damping="0.7"')), back


def test_an_error_names_file_line_and_column(tmp_path):
    broken = tmp_path / "robot.usda"
    broken.write_text('#usda 1.0\ndef Xform "r"\n{\n    float x = \n}\n')
    done = run("inspect", broken)
    assert done.returncode != 0 and "expected a number, found the end of the line, robot.usda:4:14" in done.stderr, done.stderr
