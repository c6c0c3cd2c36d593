"""Python as a dialect: expressions and statements as trees, made of templates with holes."""
