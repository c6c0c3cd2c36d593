"""Python as a dialect: expressions and statements as syntax trees, made of templates with holes."""
